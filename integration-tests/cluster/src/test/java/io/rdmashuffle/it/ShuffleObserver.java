// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** What a running application's shuffle looks like from the driver: our counters, Spark's own metrics, files left. */
public final class ShuffleObserver extends SparkListener {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private static final long AWAIT_SECONDS = 60;
    private static final long POLL_MILLIS = 50;

    private final SparkContext context;
    private final LongAdder bytesReadBySpark = new LongAdder();

    /** Listens until the application ends. */
    public ShuffleObserver(SparkContext context) {
        this.context = context;
        context.addSparkListener(this);
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        if (end.taskMetrics() != null) {
            bytesReadBySpark.add(end.taskMetrics().shuffleReadMetrics().totalBytesRead());
        }
    }

    /** Shuffle bytes read as Spark's own task metrics have it. */
    public long bytesReadBySpark() throws Exception {
        context.listenerBus().waitUntilEmpty(TIMEOUT.toMillis());
        return bytesReadBySpark.sum();
    }

    /** Returns the counters of all executors that answer. */
    public ClusterStatistics statistics() {
        return ((RdmaShuffleManager) SparkEnv.get().shuffleManager()).statistics(TIMEOUT);
    }

    /** Shuffle bytes read as our counters have it, all paths together. */
    public static long bytesReadByUs(ClusterStatistics statistics) {
        return Stream.of(
                        ShuffleCounter.LOCAL_BYTES,
                        ShuffleCounter.SHM_BYTES,
                        ShuffleCounter.VERBS_BYTES,
                        ShuffleCounter.TCP_BYTES,
                        ShuffleCounter.NETTY_BYTES,
                        ShuffleCounter.FILE_BYTES)
                .mapToLong(statistics::total)
                .sum();
    }

    /** Unregisters every shuffle everywhere, as Spark's cleaner does once there is no reference to it. */
    public void dropAllShuffles() {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        for (Object shuffleId : ScalaCollections.list(tracker.shuffleStatuses().keysIterator())) {
            context.cleaner().get().doCleanupShuffle((Integer) shuffleId, true);
        }
    }

    /** Returns how many map outputs the driver believes each executor to have, of all shuffles. */
    public Map<String, Long> outputsByExecutor() {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        return ScalaCollections.list(tracker.shuffleStatuses().valuesIterator()).stream()
                .flatMap(shuffle -> Stream.of(shuffle.mapStatuses()))
                .filter(Objects::nonNull)
                .map(status -> status.location().executorId())
                .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    }

    /** Returns the executor with most map outputs. */
    public String executorWithMostOutputs() {
        return Collections.max(outputsByExecutor().entrySet(), Map.Entry.comparingByValue())
                .getKey();
    }

    /** Waits for something that is bound to come. */
    public static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(AWAIT_SECONDS);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError(what + ": it did not come within " + AWAIT_SECONDS + " s");
            }
            Thread.sleep(POLL_MILLIS);
        }
    }

    /** Waits until Spark has removed every shuffle, in the background, as it begins to do at the end of a query. */
    public void awaitRemoval() throws InterruptedException {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        await("Spark removes all shuffles", () -> {
            ClusterStatistics now = statistics();
            return tracker.shuffleStatuses().isEmpty()
                    && now.silent().isEmpty()
                    && now.total(ShuffleCounter.POOL_LEASES) == 0;
        });
    }

    /**
     * Drops all shuffles once no task runs any more; then nothing may be held, as soon as those who were told to stop
     * have done so. What a straggler of a stage that was run again writes after its shuffle was dropped, only a sweep
     * would drop.
     */
    public void assertAllComesBack() throws InterruptedException {
        await(
                "no task runs",
                () -> Arrays.stream(context.statusTracker().getExecutorInfos())
                        .allMatch(executor -> executor.numRunningTasks() == 0));
        dropAllShuffles();
        List<ClusterStatistics> looks = new ArrayList<>();
        try {
            await("all executors answer, and nothing is leased or mapped", () -> {
                ClusterStatistics now = statistics();
                looks.add(now);
                return now.silent().isEmpty()
                        && now.total(ShuffleCounter.POOL_LEASES) + now.total(ShuffleCounter.PEER_MAPPINGS) == 0;
            });
        } catch (AssertionError late) {
            throw new AssertionError(late.getMessage() + "; last " + looks.get(looks.size() - 1), late);
        }
        ClusterStatistics dropped = looks.get(looks.size() - 1);
        assertThat(dropped.total(ShuffleCounter.POOL_USED_BYTES)).isZero();
        assertThat(dropped.total(ShuffleCounter.DISK_USED_BYTES)).isZero();
    }
}
