// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites.agent;

import io.rdmashuffle.spark.PoolDataIO;
import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.WeakHashMap;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.ShuffleManager;

/**
 * Evidence of the shuffle manager that a suite ran with: shuffles by the manager that registered them, and where map
 * outputs went according to the counters of the plugin in driver and executors.
 *
 * <p><b>Threading:</b> thread-safe; one lock, not held while executors are asked.
 */
public final class ShuffleEvidence {
    /** Shuffles that {@link RdmaShuffleManager} took, pool and all. */
    public static final String OURS = "shuffles.ours";

    /** Shuffles that {@link RdmaShuffleManager} left to Spark's sort shuffle, because of a setting of the suite. */
    public static final String FELL_BACK = "shuffles.fellBack";

    /** Shuffles of any other manager; its class name follows. */
    public static final String OTHER = "shuffles.other.";

    /**
     * Counters of the plugin; their labels follow. An executor that was gone before its application stopped is not in.
     */
    public static final String COUNTER = "counter.";

    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final String DATA_IO = "spark.shuffle.sort.io.plugin.class";

    private static final Map<String, Long> VALUES = new TreeMap<>();

    /** Managers that took a shuffle since they were last asked for their counters. */
    private static final Set<RdmaShuffleManager> TO_ASK = Collections.newSetFromMap(new WeakHashMap<>());

    /** Those counted already: a constructor that calls another one ends twice. */
    private static final Set<ShuffleDependency<?, ?, ?>> COUNTED = Collections.newSetFromMap(new WeakHashMap<>());

    private ShuffleEvidence() {}

    /** Records the shuffle of a {@link ShuffleDependency}; never throws, as it runs inside Spark. */
    public static void registered(Object made) {
        if (!(made instanceof ShuffleDependency<?, ?, ?> dependency)) {
            return;
        }
        synchronized (VALUES) {
            if (!COUNTED.add(dependency)) {
                return;
            }
        }
        try {
            SparkEnv env = dependency.rdd().context().env();
            ShuffleManager manager = env.shuffleManager();
            if (!(manager instanceof RdmaShuffleManager ours)) {
                add(OTHER + manager.getClass().getName(), 1);
            } else if (env.conf().get(DATA_IO, "").equals(PoolDataIO.class.getName())) {
                add(OURS, 1);
                synchronized (VALUES) {
                    TO_ASK.add(ours);
                }
            } else {
                add(FELL_BACK, 1);
            }
        } catch (RuntimeException e) {
            // A suite's mock, most likely; it is no evidence for us.
            add(OTHER + "unknown:" + e.getClass().getName(), 1);
        }
    }

    /** Adds up the counters of the current application, if it made shuffles with us; waits two seconds at most. */
    public static void collect() {
        try {
            SparkEnv env = SparkEnv.get();
            if (env == null || !(env.shuffleManager() instanceof RdmaShuffleManager manager)) {
                return;
            }
            synchronized (VALUES) {
                if (!TO_ASK.remove(manager)) {
                    return;
                }
            }
            Map<String, Map<ShuffleCounter, Long>> byExecutor = new TreeMap<>();
            byExecutor.putAll(manager.statistics(TIMEOUT).byExecutor());
            byExecutor.values().forEach(counters -> counters.forEach(ShuffleEvidence::addCounter));
        } catch (RuntimeException e) {
            add("uncollected." + e.getClass().getName(), 1);
        }
    }

    /** Sums of moments mean nothing: only what grows from start to stop is added. */
    private static void addCounter(ShuffleCounter counter, long value) {
        switch (counter) {
            case LOCAL_BYTES,
                    SHM_BYTES,
                    VERBS_BYTES,
                    TCP_BYTES,
                    NETTY_BYTES,
                    FILE_BYTES,
                    MAP_OUTPUTS_POOLED,
                    MAP_OUTPUTS_FILED -> add(COUNTER + counter.label(), value);
            default -> {}
        }
    }

    private static void add(String name, long value) {
        synchronized (VALUES) {
            VALUES.merge(name, value, Long::sum);
        }
    }

    /** Returns a copy of all that is known. */
    public static Map<String, Long> snapshot() {
        synchronized (VALUES) {
            return new TreeMap<>(VALUES);
        }
    }
}
