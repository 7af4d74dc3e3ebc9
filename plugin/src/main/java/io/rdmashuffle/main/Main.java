// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.main;

import io.rdmashuffle.doctor.host.HostDoctor;
import io.rdmashuffle.doctor.report.CommandLine;
import java.io.PrintStream;
import java.util.List;
import java.util.Objects;

/**
 * Dispatcher of commands by the first argument.
 *
 * <p><b>Threading:</b> the main thread.
 */
public final class Main {
    private static final String USAGE = """
            Usage: java -jar rdma-shuffle-spark-VERSION.jar COMMAND
              doctor      says whether executors on this host would use RDMA, and why not (doctor --help)
              --version   prints the version of this jar
              --help      prints this
            As a shuffle of Spark: spark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager, see README.md.
            As a Spark application, io.rdmashuffle.doctor.ClusterDoctor tells which way executors reach each other.
            """;

    private Main() {}

    /** Runs a command and exits with its exit code. */
    public static void main(String... words) {
        System.exit(run(System.out, System.err, List.of(words)));
    }

    static int run(PrintStream out, PrintStream err, List<String> words) {
        String command = words.isEmpty() ? "" : words.get(0);
        return switch (command) {
            case "doctor" -> HostDoctor.run(version(), out, err, words.subList(1, words.size()));
            case "--version" -> print(out, "rdma-shuffle-spark " + version());
            case "--help" -> print(out, USAGE.strip());
            default -> {
                err.println("unknown command '" + command + "'; there are: doctor --version --help");
                yield CommandLine.EXIT_MISUSE;
            }
        };
    }

    private static int print(PrintStream out, String text) {
        out.println(text);
        return 0;
    }

    /** Returns the version in the manifest; classes outside a jar have none. */
    private static String version() {
        return Objects.requireNonNullElse(Main.class.getPackage().getImplementationVersion(), "(not packaged)");
    }
}
