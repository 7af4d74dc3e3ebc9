// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.cli.ShuffleModeConverter;
import io.rdmashuffle.harness.cli.SparkKeys;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.network.util.JavaUtils;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options that benches of sort shuffle beside ours have in common, and the configuration that follows from them.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
public abstract class ComparisonOptions {
    /** One core each, so that they fill a machine of two cores while one application works. */
    public static final int EXECUTORS = 2;

    /** Order, in the help, of the options of one bench: before those of all. */
    protected static final int FIRST = -2;

    /** Spark's own limit is 450 MB; jobs of 2000 partitions want more. */
    private static final int LEAST_MEMORY = 700;

    private static final long MEBIBYTE = 1 << 20;

    @Option(names = "--rounds", paramLabel = "N", description = "Rounds, alternating. Default: ${DEFAULT-VALUE}")
    private int rounds = 3;

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
            description = "Our pool in each of the two executors, as Spark writes sizes. Default: ${DEFAULT-VALUE}")
    private String pool = "3g";

    @Option(
            names = "--executor-memory",
            paramLabel = "MB",
            description = "Heap of each executor. Default: ${DEFAULT-VALUE}")
    private int executorMemory = 1500;

    @Option(
            names = "--equal-memory",
            description = "Add the size of our pool to the heap of executors with sort shuffle")
    private boolean equalMemory;

    @Option(
            names = "--conf",
            paramLabel = "KEY=VALUE",
            description = "Spark configuration of all applications; repeatable")
    private Map<String, String> conf = new LinkedHashMap<>();

    @Option(
            names = "--ours-conf",
            paramLabel = "KEY=VALUE",
            description = "Spark configuration of our application only; repeatable")
    private Map<String, String> oursConf = new LinkedHashMap<>();

    @Option(names = "--timeout", paramLabel = "SECONDS", description = "Timeout. Default: ${DEFAULT-VALUE}")
    private int timeoutSeconds = 1800;

    @Option(names = "--json", paramLabel = "FILE", description = "Write all figures to a JSON file")
    private @Nullable Path json;

    /**
     * Validates ranges and names, which picocli cannot.
     *
     * @throws IllegalArgumentException naming the option, its value and valid values
     */
    public void check() {
        atLeast("--rounds", rounds, 1);
        atLeast("--executor-memory", executorMemory, LEAST_MEMORY);
        atLeast("--timeout", timeoutSeconds, 1);
        if (!pool.matches("[0-9]+[kmgtKMGT]?")) {
            throw new IllegalArgumentException("--pool " + pool + ": must be an integer with k, m, g or t");
        }
        SparkKeys.check("--conf", conf.keySet());
        SparkKeys.check("--ours-conf", oursConf.keySet());
    }

    /** Throws {@link IllegalArgumentException}, naming the option, for a value that is too small. */
    protected static void atLeast(String option, long value, long least) {
        if (value < least) {
            throw new IllegalArgumentException(option + " " + value + ": allowed is " + least + " and more");
        }
    }

    public final int rounds() {
        return rounds;
    }

    public final ShuffleMode fabric() {
        return fabric;
    }

    /** Returns the limit of one job or query. */
    public final Duration timeout() {
        return Duration.ofSeconds(timeoutSeconds);
    }

    /** Writes figures to a file. */
    @FunctionalInterface
    public interface Figures {
        void writeJson(Path file) throws IOException;
    }

    /** Writes the results so far, if JSON was requested, so that an interrupted run keeps them. */
    public final void keep(Figures figures) throws IOException {
        if (json != null) {
            figures.writeJson(json);
        }
    }

    /** Prints the path of the JSON file, if there is one. */
    public final void sayWhereKept(PrintStream out) {
        if (json != null) {
            out.println("written: " + json);
        }
    }

    /** Returns what a reader of the figures must know; the caller may add to it. */
    public Map<String, Object> settings() {
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("rounds", rounds);
        settings.put("executors", EXECUTORS);
        settings.put("executorMemoryMb", executorMemory);
        settings.put("pool", pool);
        settings.put("equalMemory", equalMemory);
        settings.put("fabric", fabric.toString());
        settings.put("conf", new TreeMap<>(conf));
        settings.put("oursConf", new TreeMap<>(oursConf));
        settings.put("processors", Runtime.getRuntime().availableProcessors());
        return settings;
    }

    /** Adds to what the bench itself wants what these options say; what the user gave wins. */
    protected final Map<String, String> complete(Map<String, String> wanted, boolean ours) {
        Map<String, String> all = new LinkedHashMap<>(wanted);
        long heap = executorMemory + (equalMemory && !ours ? JavaUtils.byteStringAsBytes(pool) / MEBIBYTE : 0);
        all.put("spark.master", "local-cluster[" + EXECUTORS + ",1," + heap + "]");
        all.put("spark.executor.memory", heap + "m");
        all.put("spark.ui.enabled", "false");
        all.putAll(conf);
        all.putAll((ours ? fabric : ShuffleMode.SORT).conf());
        if (ours) {
            if (fabric != ShuffleMode.SORT) {
                all.put("spark.shuffle.rdma.pool.maxSize", pool);
            }
            all.putAll(oursConf);
        }
        return all;
    }
}
