package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.shuffle.ShuffleCounter;
import io.rdmashuffle.spark.ClusterStatistics;
import io.rdmashuffle.spark.RdmaShuffleManager;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import scala.jdk.javaapi.CollectionConverters;

/** What a running application's shuffle looks like from the driver: our counters, Spark's own metrics, files left. */
final class ShuffleObserver extends SparkListener {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private final SparkContext context;
    private final LongAdder bytesReadBySpark = new LongAdder();

    ShuffleObserver(SparkContext context) {
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
    long bytesReadBySpark() throws Exception {
        context.listenerBus().waitUntilEmpty(TIMEOUT.toMillis());
        return bytesReadBySpark.sum();
    }

    ClusterStatistics statistics() {
        return ((RdmaShuffleManager) SparkEnv.get().shuffleManager()).statistics(TIMEOUT);
    }

    /** Shuffle bytes read as our counters have it, all paths together. */
    static long bytesReadByUs(ClusterStatistics statistics) {
        return Stream.of(
                        ShuffleCounter.LOCAL_BYTES,
                        ShuffleCounter.SHM_BYTES,
                        ShuffleCounter.VERBS_BYTES,
                        ShuffleCounter.NETTY_BYTES,
                        ShuffleCounter.FILE_BYTES)
                .mapToLong(statistics::total)
                .sum();
    }

    /** Unregisters every shuffle everywhere, as Spark's cleaner does once nobody refers to it. */
    void dropAllShuffles() {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        for (Object shuffleId :
                CollectionConverters.asJava(tracker.shuffleStatuses().keySet().toList())) {
            context.cleaner().get().doCleanupShuffle((Integer) shuffleId, true);
        }
    }

    /** Drops all shuffles; then nothing may be held. */
    void assertAllComesBack() {
        dropAllShuffles();
        ClusterStatistics dropped = statistics();
        assertThat(dropped.total(ShuffleCounter.POOL_USED_BYTES)).isZero();
        assertThat(dropped.total(ShuffleCounter.POOL_LEASES)).isZero();
        assertThat(dropped.total(ShuffleCounter.PEER_MAPPINGS)).isZero();
    }
}
