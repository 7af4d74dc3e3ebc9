// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Invariant I4 where the pool may grow and the memory to grow into is gone. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class FullMemoryIT {
    private static final GroupedBytes JOB = new GroupedBytes(12, 6, 0);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();

    /** What the first executor takes leaves enough for the next, which needs at least a directory for its disk tier. */
    @Test
    void executorsShareMemoryThatIsTooSmall() throws Exception {
        try (SmallMemory memory = SmallMemory.mount("8m")) {
            Map<String, String> conf = Map.of(
                    "spark.shuffle.compress",
                    "false",
                    "spark.shuffle.rdma.pool.directory",
                    memory.path().toString());
            try (SparkCluster cluster = SparkCluster.start(3, ShuffleMode.AUTO, conf)) {
                ShuffleObserver observer = new ShuffleObserver(cluster.context());
                assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
                ClusterStatistics full = observer.statistics();
                full.byExecutor()
                        .forEach((executor, counters) -> assertThat(counters.get(ShuffleCounter.POOL_CAPACITY_BYTES))
                                .as("pool of executor %s", executor)
                                .isPositive());
                assertThat(full.total(ShuffleCounter.MAP_OUTPUTS_ON_DISK)).isPositive();
                assertThat(full.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isZero();
                assertThat(full.total(ShuffleCounter.NETTY_BYTES)).isZero();
                observer.assertAllComesBack();
            }
        }
    }

    /**
     * Another program fills {@code /dev/shm} after the start: outputs become files, and pools grow again when there is
     * room.
     */
    @Test
    void memoryThatSomebodyElseFilledIsNoFailure() throws Exception {
        Map<String, String> conf = new HashMap<>(Map.of(
                "spark.shuffle.compress", "false",
                "spark.shuffle.rdma.disk.enabled", "false",
                "spark.shuffle.rdma.directory.maxShuffles", "64",
                "spark.shuffle.rdma.pool.regionSize", "4m",
                "spark.shuffle.rdma.pool.initialSize", "4m",
                "spark.shuffle.rdma.pool.maxSize", "16m"));
        try (SmallMemory memory = SmallMemory.mount("40m")) {
            conf.put("spark.shuffle.rdma.pool.directory", memory.path().toString());
            try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
                ShuffleObserver observer = new ShuffleObserver(cluster.context());
                TaskRecorder tasks = new TaskRecorder(cluster.context());
                // Registered executors have no pool yet, a new file has no room yet; one that starts where there is
                // none does without.
                ShuffleObserver.await("two pools", () -> memory.usedBytes() >= 2 * (4 << 20));
                memory.fill();
                assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
                ClusterStatistics full = observer.statistics();
                assertThat(full.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isPositive();
                assertThat(full.total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isPositive();
                assertThat(full.total(ShuffleCounter.POOL_CAPACITY_BYTES)).isEqualTo(2 * (4 << 20));

                memory.empty();
                ShuffleObserver.await("the pools grow", () -> {
                    assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
                    return observer.statistics().total(ShuffleCounter.POOL_CAPACITY_BYTES) > 2 * (4 << 20);
                });
                assertThat(tasks.failures()).isEmpty();
                observer.assertAllComesBack();
            }
        }
    }
}
