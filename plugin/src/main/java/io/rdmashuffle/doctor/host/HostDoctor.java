// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.FabricMode;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.doctor.report.CommandLine;
import io.rdmashuffle.doctor.report.CommandLine.Option;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.doctor.report.HostReport;
import io.rdmashuffle.doctor.report.MisuseException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Command {@code doctor}: examines this host and prints findings.
 *
 * <p><b>Threading:</b> of one thread.
 */
public final class HostDoctor {
    private static final String CONF_FILE = "--conf-file";
    private static final String CONF = "--conf";
    private static final String EXECUTORS = "--executors";
    private static final String PEER = "--peer";
    private static final String JSON = "--json";
    private static final String HELP = "--help";
    private static final int MOST_EXECUTORS = 1024;

    private static final List<Option> OPTIONS = List.of(
            new Option(CONF_FILE, "FILE", "settings of the application, in the format of spark-defaults.conf"),
            new Option(CONF, "KEY=VALUE", "a setting that goes before the file's; may be repeated"),
            new Option(EXECUTORS, "N", "how many executors run on a host (default 1): each has a pool of its own"),
            new Option(PEER, "ADDRESS", "an RDMA address of another host, which shall answer; may be repeated"),
            new Option(JSON, "", "print one JSON document rather than text"),
            new Option(HELP, "", "print this"));

    private static final String USAGE = """
            Usage: java -jar rdma-shuffle-spark-VERSION.jar doctor [OPTION]...
            Says whether executors on this host would use RDMA, what is in the way, and what to do about it. Limits are
            those of this process: run it where and as whom executors run.
            OPTIONS
            Exit code: 0 RDMA works; 1 the application runs without RDMA, or with less than it could have; 2 the
            application does not start; 64 the command line makes no sense.
            """;

    private final Host host;
    private final String version;

    HostDoctor(Host host, String version) {
        this.host = host;
        this.version = version;
    }

    /**
     * Runs the command.
     *
     * @param version of this jar
     * @param words its options
     * @return the exit code
     */
    public static int run(String version, PrintStream out, PrintStream err, List<String> words) {
        try {
            CommandLine line = CommandLine.parse(OPTIONS, words);
            if (line.has(HELP)) {
                out.print(USAGE.replace("OPTIONS\n", CommandLine.help(OPTIONS) + "\n"));
                return 0;
            }
            List<String> files = line.all(CONF_FILE);
            @Nullable Path file = files.isEmpty() ? null : Path.of(files.get(files.size() - 1));
            Settings settings = Settings.read(file, line.all(CONF), line.number(EXECUTORS, 1, 1, MOST_EXECUTORS));
            HostReport report = new HostDoctor(Host.thisOne(), version).examine(settings.withPeers(line.all(PEER)));
            out.println(line.has(JSON) ? report.json() : report.text());
            return report.exitCode();
        } catch (MisuseException e) {
            err.println("doctor: " + e.getMessage());
            return CommandLine.EXIT_MISUSE;
        }
    }

    /** Examines this host with settings that are at hand, those of the application that asks. */
    public static HostReport examine(Map<String, String> settings) {
        return new HostDoctor(Host.thisOne(), "").examine(Settings.of("the application's settings", settings, 1));
    }

    /** Runs all checks; without native code, the remaining ones. */
    HostReport examine(Settings settings) {
        List<Finding> findings = new ArrayList<>(SystemCheck.run(host));
        boolean isNative = findings.stream().allMatch(finding -> finding.effect() == Effect.NONE);
        findings.addAll(SettingsCheck.run(settings));
        findings.addAll(PoolCheck.run(host, settings));
        findings.addAll(DiskCheck.run(host, settings));
        if (isNative) {
            findings.addAll(rdma(settings));
        }
        return new HostReport(version, host.name(), findings);
    }

    /** As an executor does: verbs first, and libfabric where the kernel has devices that only libfabric can use. */
    private List<Finding> rdma(Settings settings) {
        FabricMode mode = settings.config().get(ShuffleConfig.FABRIC_MODE);
        if (mode == FabricMode.OFI) {
            return OfiCheck.run(host, settings);
        }
        if (mode != FabricMode.AUTO && mode != FabricMode.VERBS) {
            return List.of();
        }
        List<Finding> findings = new ArrayList<>(RdmaCheck.run(host, settings));
        if (mode == FabricMode.AUTO
                && !openVerbs(findings)
                && host.rdma().ofiProvider().isPresent()) {
            List<Finding> ofi = OfiCheck.run(host, settings);
            if (ofi.stream().allMatch(HostDoctor::allowsRdma)) {
                return ofi;
            }
            findings.addAll(ofi);
        }
        return findings;
    }

    /** Returns whether an executor would use verbs: it makes no read to find out. */
    private static boolean openVerbs(List<Finding> findings) {
        return findings.stream()
                .allMatch(finding -> allowsRdma(finding) || finding.check().equals(RdmaCheck.READ));
    }

    private static boolean allowsRdma(Finding finding) {
        return finding.effect().compareTo(Effect.NO_RDMA) < 0;
    }

    /**
     * Check whether this Java on this system can call native code.
     *
     * <p><b>Threading:</b> stateless.
     */
    private static final class SystemCheck {
        private static final Set<String> PROCESSORS = Set.of("amd64", "x86_64", "aarch64");

        private SystemCheck() {}

        static List<Finding> run(Host host) {
            return List.of(system(host), nativeCode(host));
        }

        private static Finding system(Host host) {
            String system = host.property("os.name");
            String processor = host.property("os.arch");
            String message =
                    "Java " + host.property("java.version") + " (" + host.property("java.vendor") + "), " + system + " "
                            + host.property("os.version") + " on " + processor + ", user " + host.property("user.name");
            boolean known = system.equals("Linux") && PROCESSORS.contains(processor);
            Finding finding = known
                    ? Finding.ok("system", message)
                    : Finding.wrong(
                            "system",
                            Effect.SORT_SHUFFLE,
                            message + ": the jar has native code for Linux on x86-64 and aarch64 only",
                            "run executors on Linux on x86-64 or aarch64, with a Java of 64 bits");
            return finding.with("java", host.property("java.version"))
                    .with("os", system)
                    .with("kernel", host.property("os.version"))
                    .with("arch", processor);
        }

        private static Finding nativeCode(Host host) {
            String reason = host.reasonAgainstNative().get().orElse("");
            return reason.isEmpty()
                    ? Finding.ok("native-code", "native code can be called (jffi is unpacked and loaded)")
                    : Finding.wrong(
                            "native-code",
                            Effect.SORT_SHUFFLE,
                            reason,
                            "let java.io.tmpdir (now " + host.property("java.io.tmpdir") + ") be a directory of a file"
                                    + " system that is not mounted noexec: -Djava.io.tmpdir=DIR in"
                                    + " spark.executor.extraJavaOptions and spark.driver.extraJavaOptions; with Java 24"
                                    + " or newer also --enable-native-access=ALL-UNNAMED there");
        }
    }
}
