// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle;

import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * Local Spark application with the plugin.
 *
 * <p><b>Threading:</b> one at a time per JVM. <b>Ownership:</b> closing stops the application.
 */
public final class LocalApplication implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private final JavaSparkContext context;
    private final Sums sums = new Sums();

    /** What tasks of the application report to Spark, added up. Guarded by itself. */
    private static final class Sums extends SparkListener {
        private long recordsWritten;
        private long bytesWritten;
        private long recordsRead;
        private long bytesRead;
        private long bytesSpilled;

        @Override
        public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
            TaskMetrics metrics = end.taskMetrics();
            recordsWritten += metrics.shuffleWriteMetrics().recordsWritten();
            bytesWritten += metrics.shuffleWriteMetrics().bytesWritten();
            recordsRead += metrics.shuffleReadMetrics().recordsRead();
            bytesRead += metrics.shuffleReadMetrics().totalBytesRead();
            bytesSpilled += metrics.diskBytesSpilled();
        }

        synchronized Metrics metrics() {
            return new Metrics(recordsWritten, bytesWritten, recordsRead, bytesRead, bytesSpilled);
        }
    }

    /** Shuffle metrics of all tasks so far. */
    public record Metrics(
            long recordsWritten, long bytesWritten, long recordsRead, long bytesRead, long bytesSpilled) {}

    private LocalApplication(JavaSparkContext context) {
        this.context = context;
    }

    /** Starts one on a core, with a pool of 8 MB; the configuration given wins. */
    public static LocalApplication start(Path pools, Path local, Map<String, String> more) {
        SparkConf conf = new SparkConf(false)
                .setMaster("local[1]")
                .setAppName("test")
                .set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.local.dir", local.toString())
                .set("spark.shuffle.manager", RdmaShuffleManager.class.getName())
                .set("spark.shuffle.rdma.pool.directory", pools.toString())
                .set("spark.shuffle.rdma.pool.regionSize", "8m")
                .set("spark.shuffle.rdma.pool.maxSize", "8m");
        more.forEach(conf::set);
        LocalApplication started = new LocalApplication(new JavaSparkContext(conf));
        started.context.sc().addSparkListener(started.sums);
        return started;
    }

    public JavaSparkContext context() {
        return context;
    }

    /** Returns a counter of the plugin. */
    public long counted(ShuffleCounter counter) {
        ClusterStatistics statistics = ((RdmaShuffleManager) SparkEnv.get().shuffleManager()).statistics(TIMEOUT);
        return statistics.total(counter);
    }

    /** Returns what Spark has been told, of all tasks that have ended. */
    public Metrics metrics() throws Exception {
        context.sc().listenerBus().waitUntilEmpty(TIMEOUT.toMillis());
        return sums.metrics();
    }

    /** Unregisters every shuffle, as Spark's cleaner does once there is no reference to it. */
    public void dropAllShuffles() {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        for (int shuffleId = 0; shuffleId < tracker.shuffleStatuses().size() + 100; shuffleId++) {
            if (tracker.shuffleStatuses().contains(shuffleId)) {
                context.sc().cleaner().get().doCleanupShuffle(shuffleId, true);
            }
        }
    }

    @Override
    public void close() {
        context.close();
    }
}
