// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor;

import io.rdmashuffle.doctor.report.CommandLine;
import io.rdmashuffle.doctor.report.CommandLine.Option;
import io.rdmashuffle.doctor.report.MisuseException;
import io.rdmashuffle.spark.RdmaShuffleManager;
import java.io.PrintStream;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.storage.BlockManagerId;
import scala.Tuple2;

/**
 * A Spark application that prints which way each executor reaches each other one:
 * {@code spark-submit --class io.rdmashuffle.doctor.ClusterDoctor rdma-shuffle-spark.jar}.
 *
 * <p><b>Threading:</b> the main thread of the driver.
 */
public final class ClusterDoctor {
    private static final String EXECUTORS = "--executors";
    private static final String WAIT = "--wait";
    private static final String JSON = "--json";
    private static final String HELP = "--help";
    private static final int MOST_EXECUTORS = 10_000;
    private static final int MOST_SECONDS = 3600;
    /** Maximum rounds of tasks, so that each executor gets one. */
    private static final int MOST_ROUNDS = 50;

    private static final int EXIT_NO_SHUFFLE = 2;

    private static final List<Option> OPTIONS = List.of(
            new Option(EXECUTORS, "N", "number of executors to wait for (default spark.executor.instances, else 2)"),
            new Option(WAIT, "SECONDS", "timeout (default 60); then the present executors are examined"),
            new Option(JSON, "", "print one JSON document rather than text"),
            new Option(HELP, "", "print this"));

    private static final String USAGE = """
            Usage: spark-submit [OPTION of Spark]... --class io.rdmashuffle.doctor.ClusterDoctor rdma-shuffle-spark.jar
                   [OPTION]...
            Prints for each pair of executors the path over which one reads from the other (in-place, shm, verbs, tcp,
            netty), bandwidth and latency, why the path is not a better one, and what the doctors of hosts have found.
            OPTIONS
            Exit code: 0 every pair has its best path; 1 some have not, or executors are missing; 2 this shuffle does
            not serve the application; 64 the command line makes no sense.
            """;

    private final JavaSparkContext spark;

    private ClusterDoctor(JavaSparkContext spark) {
        this.spark = spark;
    }

    /** Runs the application; exits with its exit code if that is not 0. */
    public static void main(String... words) throws InterruptedException {
        int exitCode = run(System.out, System.err, List.of(words));
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    private static int run(PrintStream out, PrintStream err, List<String> words) throws InterruptedException {
        CommandLine line;
        int executors;
        int seconds;
        try {
            line = CommandLine.parse(OPTIONS, words);
            executors = line.number(EXECUTORS, 0, 1, MOST_EXECUTORS);
            seconds = line.number(WAIT, 60, 1, MOST_SECONDS);
        } catch (MisuseException e) {
            err.println("ClusterDoctor: " + e.getMessage());
            return CommandLine.EXIT_MISUSE;
        }
        if (line.has(HELP)) {
            out.print(USAGE.replace("OPTIONS\n", CommandLine.help(OPTIONS) + "\n"));
            return 0;
        }
        SparkConf conf = new SparkConf()
                .setIfMissing("spark.app.name", "RDMA shuffle: doctor of the cluster")
                // What tasks bring are records, which Kryo cannot make; paths do not depend on it.
                .set("spark.serializer", JavaSerializer.class.getName());
        try (JavaSparkContext spark = new JavaSparkContext(conf)) {
            String reason = reasonAgainst();
            if (!reason.isEmpty()) {
                err.println("ClusterDoctor: " + reason);
                return EXIT_NO_SHUFFLE;
            }
            int wanted = executors > 0 ? executors : conf.getInt("spark.executor.instances", 2);
            Matrix matrix = new ClusterDoctor(spark).examine(wanted, seconds);
            out.println(line.has(JSON) ? matrix.json() : matrix.text());
            return matrix.exitCode();
        }
    }

    private static String reasonAgainst() {
        return SparkEnv.get().shuffleManager() instanceof RdmaShuffleManager manager
                ? manager.reasonAgainstPool()
                        .map(reason -> "Spark's sort shuffle serves the application: " + reason)
                        .orElse("")
                : "spark.shuffle.manager names another shuffle; set it to " + RdmaShuffleManager.class.getName();
    }

    private Matrix examine(int wanted, int seconds) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (executorsNow() < wanted && System.nanoTime() - deadline < 0) {
            Thread.sleep(100);
        }
        // The first shuffle starts the driver's part, which executors join.
        spark.parallelize(IntStream.range(0, 4).boxed().toList(), 2)
                .mapToPair(number -> new Tuple2<>(number, number))
                .groupByKey(2)
                .count();
        int executors = Math.max(1, executorsNow());
        Map<String, BlockManagerId> places = inRounds(executors, new ExecutorJoin(), BlockManagerId::executorId);
        Map<String, ExecutorReport> reports =
                inRounds(places.size(), new ExecutorProbe(places), ExecutorReport::executorId);
        String version = Objects.requireNonNullElse(
                ClusterDoctor.class.getPackage().getImplementationVersion(), "(not packaged)");
        return new Matrix(
                version,
                wanted,
                reports.values().stream()
                        .sorted(Comparator.comparingInt((ExecutorReport report) ->
                                        report.executorId().length())
                                .thenComparing(ExecutorReport::executorId))
                        .toList());
    }

    /** Spark's list includes the driver. */
    private int executorsNow() {
        return spark.sc().statusTracker().getExecutorInfos().length - 1;
    }

    /** Runs tasks until that number of executors have run one; returns their results by executor. */
    private <T> Map<String, T> inRounds(
            int executors, Function<Integer, T> task, java.util.function.Function<T, String> executorId) {
        Map<String, T> results = new TreeMap<>();
        for (int round = 0; round < MOST_ROUNDS && results.size() < executors; round++) {
            List<Integer> tasks = IntStream.range(0, executors).boxed().toList();
            spark.parallelize(tasks, executors)
                    .map(task)
                    .collect()
                    .forEach(result -> results.put(executorId.apply(result), result));
        }
        return results;
    }
}
