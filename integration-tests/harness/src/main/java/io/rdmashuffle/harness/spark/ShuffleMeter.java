// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.spark;

import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * Reads what the shuffle moved: Spark's task metrics with any manager, and our manager's counters with ours.
 *
 * <p><b>Threading:</b> call from one thread; the task metrics arrive on Spark's listener thread.
 */
public final class ShuffleMeter {
    /** Label of the number of executors that did not answer. */
    public static final String SILENT_EXECUTORS = "silentExecutors";

    private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(10);
    /** Timeout for a paused executor. */
    private static final Duration NOTE_TIMEOUT = Duration.ofSeconds(2);

    private static final long DRAIN_SECONDS = 20;
    private static final long POLL_MILLIS = 250;

    /** Counters that add up over executors that have come and gone. */
    private static final List<ShuffleCounter> MOVED = List.of(
            ShuffleCounter.LOCAL_BYTES,
            ShuffleCounter.SHM_BYTES,
            ShuffleCounter.VERBS_BYTES,
            ShuffleCounter.TCP_BYTES,
            ShuffleCounter.NETTY_BYTES,
            ShuffleCounter.FILE_BYTES,
            ShuffleCounter.DIRECT_BYTES,
            ShuffleCounter.FETCH_BATCH_BYTES,
            ShuffleCounter.DISK_READ_BYTES);

    private final SparkContext context;
    /** Last report by executor. */
    private final Map<String, Map<ShuffleCounter, Long>> heard = new HashMap<>();

    private final AtomicLong taskMetricBytes = new AtomicLong();

    /** Starts to listen; the context's end ends that. */
    public ShuffleMeter(SparkContext context) {
        this.context = context;
        context.addSparkListener(new SparkListener() {
            @Override
            public void onTaskEnd(SparkListenerTaskEnd end) {
                TaskMetrics metrics = end.taskMetrics();
                if (metrics != null) {
                    taskMetricBytes.addAndGet(metrics.shuffleReadMetrics().totalBytesRead());
                }
            }
        });
    }

    /**
     * Totals since the application started.
     *
     * @param counters by label; empty with another manager than ours
     */
    public record Reading(long taskMetricBytes, Map<String, Long> counters) {
        /** Returns the difference to an earlier reading. */
        public Reading minus(Reading earlier) {
            Map<String, Long> difference = new TreeMap<>();
            counters.forEach((label, value) -> difference.put(label, value - earlier.counters.getOrDefault(label, 0L)));
            return new Reading(taskMetricBytes - earlier.taskMetricBytes, difference);
        }
    }

    /** Returns the totals up to now. */
    public Reading read() {
        try {
            context.listenerBus().waitUntilEmpty(ANSWER_TIMEOUT.toMillis());
        } catch (TimeoutException e) {
            System.err.println("Spark's listener bus did not drain in time; bytes read may be too low");
        }
        return new Reading(taskMetricBytes.get(), counters());
    }

    /** Asks executors for their counters, so that later readings have what those moved that are gone by then. */
    public void note() {
        if (SparkEnv.get().shuffleManager() instanceof RdmaShuffleManager manager) {
            heard.putAll(manager.statistics(NOTE_TIMEOUT).byExecutor());
        }
    }

    private Map<String, Long> counters() {
        Map<String, Long> byLabel = new TreeMap<>();
        if (SparkEnv.get().shuffleManager() instanceof RdmaShuffleManager manager) {
            ClusterStatistics statistics = manager.statistics(ANSWER_TIMEOUT);
            for (ShuffleCounter counter : ShuffleCounter.values()) {
                byLabel.put(counter.label(), statistics.total(counter));
            }
            heard.forEach((executor, counters) -> {
                if (!statistics.byExecutor().containsKey(executor)) {
                    MOVED.forEach(moved -> byLabel.merge(moved.label(), counters.getOrDefault(moved, 0L), Long::sum));
                }
            });
            heard.putAll(statistics.byExecutor());
            byLabel.put(SILENT_EXECUTORS, (long) statistics.silent().size());
        }
        return byLabel;
    }

    /** Lets Spark drop the shuffles of past queries and returns the counters once pool and mappings are empty. */
    public Map<String, Long> drain() throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DRAIN_SECONDS);
        Map<String, Long> counters = counters();
        do {
            // Spark unregisters a shuffle when the driver's garbage collector finds it unreachable.
            System.gc();
            Thread.sleep(POLL_MILLIS);
            counters = counters();
        } while (isHeld(counters) && System.nanoTime() < deadline);
        return counters;
    }

    /** Returns whether pools or mappings of peers hold anything, or an executor does not say. */
    public static boolean isHeld(Map<String, Long> counters) {
        return counters.getOrDefault(SILENT_EXECUTORS, 0L) != 0
                || counters.getOrDefault(ShuffleCounter.POOL_USED_BYTES.label(), 0L) != 0
                || counters.getOrDefault(ShuffleCounter.DISK_USED_BYTES.label(), 0L) != 0
                || counters.getOrDefault(ShuffleCounter.POOL_LEASES.label(), 0L) != 0
                || counters.getOrDefault(ShuffleCounter.PEER_MAPPINGS.label(), 0L) != 0;
    }
}
