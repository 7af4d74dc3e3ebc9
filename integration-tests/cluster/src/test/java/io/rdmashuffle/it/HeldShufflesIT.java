// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * An application that goes on for long and whose shuffles are not removed, as the driver's garbage collection leaves
 * them: the oldest move to disk and are read there, and once they are dropped the memory goes back to the host.
 */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class HeldShufflesIT {
    private static final int SHUFFLES = 200;
    private static final int TIMED = 10;
    private static final int EXECUTORS = 2;
    private static final long DEADLINE_SECONDS = 90;
    private static final long INITIAL_BYTES = 16 << 20;
    private static final GroupedBytes JOB = new GroupedBytes(4, 4, 0);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @Test
    @Tag("nightly")
    void oldestAreDemotedAndMemoryIsFreedAtTheEnd() throws Exception {
        Map<String, String> conf = pools.conf(
                "spark.shuffle.rdma.pool.maxSize", "128m",
                "spark.shuffle.rdma.pool.initialSize", "16m",
                "spark.shuffle.rdma.pool.regionSize", "16m",
                "spark.shuffle.rdma.pool.idleTimeout", "2s",
                "spark.shuffle.rdma.fabric.readTimeout", "1s");
        try (SparkCluster cluster = SparkCluster.start(EXECUTORS, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            List<JavaPairRDD<Integer, Long>> held = new ArrayList<>();
            List<Long> millis = new ArrayList<>();
            for (int shuffle = 0; shuffle < SHUFFLES; shuffle++) {
                long start = System.nanoTime();
                JavaPairRDD<Integer, Long> job = JOB.prepare(cluster.spark());
                assertThat(GroupedBytes.sums(job)).as("shuffle %d", shuffle).isEqualTo(EXPECTED);
                held.add(job);
                millis.add(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
                if (shuffle % 20 == 19) {
                    // Some that lie in memory, some that are moving, some that lie on disk.
                    assertThat(GroupedBytes.sums(held.get(shuffle / 2))).isEqualTo(EXPECTED);
                }
            }
            System.out.printf(
                    "mean of the first ten shuffles %.0f ms, of the last ten %.0f ms%n",
                    mean(millis.subList(0, TIMED)), mean(millis.subList(SHUFFLES - TIMED, SHUFFLES)));
            ClusterStatistics full = observer.statistics();
            assertThat(full.total(ShuffleCounter.MAP_OUTPUTS_DEMOTED)).isPositive();
            assertThat(full.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isZero();
            for (int shuffle = 0; shuffle < SHUFFLES; shuffle += 25) {
                assertThat(GroupedBytes.sums(held.get(shuffle))).isEqualTo(EXPECTED);
            }
            assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED))
                    .as("no stage ran again")
                    .isEqualTo(4L * SHUFFLES);

            observer.assertAllComesBack();
            ShuffleObserver.await(
                    "idle regions are released",
                    () -> observer.statistics().total(ShuffleCounter.POOL_CAPACITY_BYTES) == EXECUTORS * INITIAL_BYTES);
            assertThat(pools.files()).hasSize(EXECUTORS);
        }
    }

    /** Runs jobs whose shuffles are held, until outputs of the first have moved to disk. */
    private static List<JavaPairRDD<Integer, Long>> heldUntilSomeMoved(SparkCluster cluster, ShuffleObserver observer)
            throws InterruptedException {
        List<JavaPairRDD<Integer, Long>> held = new ArrayList<>();
        ShuffleObserver.await("map outputs move to disk", () -> {
            JavaPairRDD<Integer, Long> job = JOB.prepare(cluster.spark());
            assertThat(GroupedBytes.sums(job)).isEqualTo(EXPECTED);
            held.add(job);
            return observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_DEMOTED) > 0;
        });
        return held;
    }

    @Test
    @Tag("nightly")
    void demotedOutputsMigrateWhenTheirExecutorLeaves() throws Exception {
        Map<String, String> conf = smallPool(
                "spark.shuffle.compress", "false",
                "spark.decommission.enabled", "true",
                "spark.storage.decommission.enabled", "true",
                "spark.storage.decommission.shuffleBlocks.enabled", "true",
                "spark.storage.decommission.rddBlocks.enabled", "false",
                "spark.storage.decommission.replicationReattemptInterval", "1s");
        try (SparkCluster cluster = SparkCluster.start(3, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            List<JavaPairRDD<Integer, Long>> held = heldUntilSomeMoved(cluster, observer);
            int mapTasks = tasks.mapTasks();
            String leaver = observer.executorWithMostOutputs();
            cluster.decommission(leaver);
            tasks.awaitRemoval(leaver, DEADLINE_SECONDS);
            cluster.awaitExecutors(3);

            for (JavaPairRDD<Integer, Long> job : held) {
                assertThat(GroupedBytes.sums(job)).isEqualTo(EXPECTED);
            }
            assertThat(tasks.mapTasks()).as("no stage ran again").isEqualTo(mapTasks);
            assertThat(tasks.failures()).isEmpty();
            observer.assertAllComesBack();
        }
    }

    /** Blocks of Spark's writers, and encrypted ones at that, are bytes like others. */
    @Test
    @Tag("nightly")
    void encryptedOutputsMoveToDiskToo() throws Exception {
        Map<String, String> conf = smallPool("spark.io.encryption.enabled", "true", "spark.shuffle.compress", "false");
        try (SparkCluster cluster = SparkCluster.start(EXECUTORS, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            List<JavaPairRDD<Integer, Long>> held = heldUntilSomeMoved(cluster, observer);
            long pooled = observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED);
            for (JavaPairRDD<Integer, Long> job : held) {
                assertThat(GroupedBytes.sums(job)).isEqualTo(EXPECTED);
            }
            assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED))
                    .as("no stage ran again")
                    .isEqualTo(pooled);
            observer.assertAllComesBack();
        }
    }

    private Map<String, String> smallPool(String... more) {
        Map<String, String> conf = pools.conf(
                "spark.shuffle.rdma.pool.maxSize", "24m",
                "spark.shuffle.rdma.fabric.readTimeout", "1s");
        for (int i = 0; i < more.length; i += 2) {
            conf.put(more[i], more[i + 1]);
        }
        return conf;
    }

    private static double mean(List<Long> millis) {
        return millis.stream().mapToLong(Long::longValue).average().orElse(0);
    }
}
