// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.cli.ShuffleModeConverter;
import io.rdmashuffle.harness.cli.SparkKeys;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of {@code bin/bench memory} and the configuration that follows from them.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
final class MemoryOptions {
    /** Spark demands half as much again as it sets aside. */
    private static final double HEAP_PER_RESERVED = 1.5;

    private static final int MAX_HEAP_MB = 100_000;
    /** Spark would leave out sorts and merges of partitions whose order and number do not matter to the result. */
    private static final String EXCLUDED_RULES = "org.apache.spark.sql.catalyst.optimizer.EliminateSorts,"
            + "org.apache.spark.sql.catalyst.optimizer.CollapseRepartition";

    @Option(
            names = "--jobs",
            paramLabel = "NAMES",
            split = ",",
            description = "Jobs by name; all of them by default. They are: window-200, coalesce-sort-200,"
                    + " sort-merge-join-200, aggregate-2000, kryo-rdd-400, one-partition; the number is of partitions"
                    + " that are written")
    private List<String> jobs = List.of("all");

    @Option(
            names = "--rows",
            paramLabel = "N",
            description = "Rows of some 150 B of a job, written by two tasks. Default: ${DEFAULT-VALUE}")
    private long rows = 400_000;

    @Option(names = "--min", paramLabel = "MB", description = "The smallest heap. Default: ${DEFAULT-VALUE}")
    private int min = 72;

    @Option(names = "--max", paramLabel = "MB", description = "The largest heap. Default: ${DEFAULT-VALUE}")
    private int max = 1024;

    @Option(
            names = "--reserved",
            paramLabel = "MB",
            description = "Memory that Spark reserves of a heap before tasks have 60 percent of the rest, instead of"
                    + " its 300 MB; about what an executor holds that does nothing. Default: ${DEFAULT-VALUE}")
    private int reserved = 48;

    @Option(
            names = "--repeats",
            paramLabel = "N",
            description = "Consecutive successes that a heap needs. Default: ${DEFAULT-VALUE}")
    private int repeats = 3;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            description = "Timeout, including the application's start. Default: ${DEFAULT-VALUE}")
    private int timeoutSeconds = 60;

    @Option(
            names = "--fabric",
            converter = ShuffleModeConverter.class,
            paramLabel = "MODE",
            description = "Transport of our shuffle: ${COMPLETION-CANDIDATES}; sort compares sort shuffle with"
                    + " itself, which shows the noise. Default: ${DEFAULT-VALUE}")
    private ShuffleMode fabric = ShuffleMode.AUTO;

    @Option(
            names = "--pool",
            paramLabel = "SIZE",
            description = "Our pool, as Spark writes sizes. Default: ${DEFAULT-VALUE}")
    private String pool = "1g";

    @Option(
            names = "--conf",
            paramLabel = "KEY=VALUE",
            description = "Spark configuration of all applications; repeatable")
    private Map<String, String> conf = new LinkedHashMap<>();

    @Option(
            names = "--ours-conf",
            paramLabel = "KEY=VALUE",
            description = "Spark configuration of our applications only; repeatable")
    private Map<String, String> oursConf = new LinkedHashMap<>();

    @Option(names = "--json", paramLabel = "FILE", description = "Write all attempts to a JSON file")
    private @Nullable Path json;

    /**
     * Validates ranges and names, which picocli cannot.
     *
     * @throws IllegalArgumentException naming the option, its value and valid values
     */
    void check() {
        jobs();
        within("--rows", rows, 1, Long.MAX_VALUE);
        within("--reserved", reserved, 1, MAX_HEAP_MB);
        within("--min", min, (int) Math.ceil(reserved * HEAP_PER_RESERVED), MAX_HEAP_MB);
        within("--max", max, min, MAX_HEAP_MB);
        within("--repeats", repeats, 1, 100);
        within("--timeout", timeoutSeconds, 1, 100_000);
        if (!pool.matches("[0-9]+[kmgtKMGT]?")) {
            throw new IllegalArgumentException("--pool " + pool + ": must be an integer with k, m, g or t");
        }
        SparkKeys.check("--conf", conf.keySet());
        SparkKeys.check("--ours-conf", oursConf.keySet());
    }

    private static void within(String option, long value, long least, long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(option + " " + value + ": allowed is "
                    + (most == Long.MAX_VALUE ? least + " and more" : least + " to " + most));
        }
    }

    List<MemoryJob> jobs() {
        return MemoryJob.select(jobs);
    }

    HeapSearch search() {
        return new HeapSearch(min, max, repeats);
    }

    @Nullable
    Path json() {
        return json;
    }

    /** Returns what a reader of the figures must know. */
    Map<String, Object> settings() {
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("rows", rows);
        settings.put("minMb", min);
        settings.put("maxMb", max);
        settings.put("reservedMb", reserved);
        settings.put("repeats", repeats);
        settings.put("timeoutSeconds", timeoutSeconds);
        settings.put("fabric", fabric.toString());
        settings.put("pool", pool);
        settings.put("conf", new TreeMap<>(conf));
        settings.put("oursConf", new TreeMap<>(oursConf));
        settings.put("processors", Runtime.getRuntime().availableProcessors());
        return settings;
    }

    /** Returns what a server is asked, to try a heap. */
    ProbeRequest request(MemoryJob job, boolean ours, int heapMb, ProbeFolders folders) {
        return new ProbeRequest(job, rows, timeoutSeconds, conf(ours, heapMb, folders));
    }

    /** Returns the configuration of one executor with one core, and a job that ends when a task fails. */
    Map<String, String> conf(boolean ours, int heapMb, ProbeFolders folders) {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("spark.master", "local-cluster[1,1," + heapMb + "]");
        all.put("spark.executor.memory", heapMb + "m");
        all.put("spark.executor.extraClassPath", folders.classPath());
        // Spark's tests set this; its value is in bytes.
        all.put("spark.testing.reservedMemory", Long.toString((long) reserved << 20));
        // Spark needs 200 MB of it, and the JVM allows as much as the heap has.
        all.put("spark.executor.extraJavaOptions", "-XX:MaxDirectMemorySize=1g");
        all.put("spark.task.maxFailures", "1");
        all.put("spark.stage.maxConsecutiveAttempts", "1");
        all.put("spark.deploy.maxExecutorRetries", "1");
        all.put("spark.app.name", "bench-memory-" + (ours ? "ours" : "sort"));
        all.put("spark.ui.enabled", "false");
        all.put("spark.local.dir", folders.local().toString());
        all.put("spark.sql.warehouse.dir", folders.local().resolve("warehouse").toString());
        all.put("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
        all.put("spark.sql.adaptive.enabled", "false");
        all.put("spark.sql.autoBroadcastJoinThreshold", "-1");
        all.put("spark.sql.shuffle.partitions", Integer.toString(MemoryJobs.TASKS));
        all.put("spark.sql.optimizer.excludedRules", EXCLUDED_RULES);
        all.putAll(conf);
        all.putAll((ours ? fabric : ShuffleMode.SORT).conf());
        if (ours) {
            if (fabric != ShuffleMode.SORT) {
                all.put("spark.shuffle.rdma.pool.maxSize", pool);
                // Executors that are killed leave their pools.
                all.put("spark.shuffle.rdma.pool.directory", folders.pools().toString());
            }
            all.putAll(oursConf);
        }
        return all;
    }
}
