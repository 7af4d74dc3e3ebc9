// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import com.codahale.metrics.Gauge;
import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.harness.spark.SparkCalls;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.spark.metrics.ShuffleSource;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.metrics.source.Source;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of the memory of killed executors. Their containers are gone, so the kernel charges it to the group around
 * these.
 */
@Tag("system")
@Tag("nightly")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class OrphanMemoryIT {
    private static final int EXECUTORS = 2;
    private static final int KILLS = 5;
    private static final long MEBIBYTE = 1 << 20;
    private static final long POOL_BYTES = 32 * MEBIBYTE;
    private static final long MAX_BYTES = 48 * MEBIBYTE;
    /** Shared memory of other things than pools, and what the kernel counts late. */
    private static final long OTHER_BYTES = 2 * MEBIBYTE;

    private static long bytesOfFiles(PoolFolder folder) {
        return folder.files().stream().mapToLong(file -> file.toFile().length()).sum();
    }

    @Test
    void isBoundedAndComesBackWithTheLastShuffle(@TempDir Path javaHome) throws Exception {
        try (MemoryGroup group = MemoryGroup.make();
                PoolFolder folder = PoolFolder.open()) {
            Map<String, String> conf = folder.conf(
                    "spark.executorEnv.JAVA_HOME",
                    group.writeJava(javaHome).toString(),
                    "spark.shuffle.rdma.outlive.enabled",
                    "true",
                    // Growth alone is reported.
                    "spark.shuffle.rdma.metrics.interval",
                    "1h",
                    "spark.shuffle.rdma.outlive.maxBytes",
                    Long.toString(MAX_BYTES),
                    "spark.shuffle.rdma.pool.maxSize",
                    Long.toString(POOL_BYTES),
                    "spark.shuffle.rdma.pool.initialSize",
                    "1m",
                    "spark.shuffle.rdma.pool.regionSize",
                    "1m",
                    "spark.shuffle.rdma.pool.idleTimeout",
                    "2s");
            try (SparkCluster cluster = SparkCluster.start(EXECUTORS, ShuffleMode.AUTO, conf)) {
                killAndDrop(cluster, folder, group);
            }
            ShuffleObserver.await("nothing is charged after the end", () -> group.sharedBytes() <= OTHER_BYTES);
        }
    }

    private static long reportedBytes() {
        List<Source> sources = SparkCalls.list(SparkEnv.get().metricsSystem(), "getSourcesByName", ShuffleSource.NAME);
        Gauge<?> bytes = Objects.requireNonNull(
                sources.get(0).metricRegistry().getGauges().get(ShuffleCounter.POOL_CAPACITY_BYTES.metric()));
        return (Long) bytes.getValue();
    }

    private static void killAndDrop(SparkCluster cluster, PoolFolder folder, MemoryGroup group) throws Exception {
        TaskRecorder tasks = new TaskRecorder(cluster.context());
        ShuffleObserver observer = new ShuffleObserver(cluster.context());
        // Each holds its shuffle: about 10 MiB in each of the pools.
        Map<GroupedBytes, JavaPairRDD<Integer, Long>> held = new LinkedHashMap<>();
        for (int kill = 0; kill < KILLS; kill++) {
            GroupedBytes job = new GroupedBytes(24, 8, 0).ofSeries(kill);
            JavaPairRDD<Integer, Long> grouped = job.prepare(cluster.spark(), ShuffleKind.IN_PLACE);
            held.put(job, grouped);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(job.expected());
            ShuffleObserver.await(
                    "the driver knows how large pools are",
                    () -> reportedBytes() >= observer.statistics().total(ShuffleCounter.POOL_CAPACITY_BYTES));
            Set<String> dead = tasks.removed();
            // The older of two: the other has room for more.
            String victim = observer.outputsByExecutor().keySet().stream()
                    .filter(executor -> !dead.contains(executor))
                    .min(Comparator.comparing(Integer::valueOf))
                    .orElseThrow();
            ProcessHandle process = cluster.executorProcess(victim);
            assertThat(process.destroyForcibly()).isTrue();
            process.onExit().get(30, TimeUnit.SECONDS);
            group.remove(process);
            tasks.awaitRemoval(victim, 60);
            cluster.awaitExecutors(EXECUTORS);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(job.expected());
            ShuffleObserver.await(
                    "dropped pools are removed",
                    () -> group.sharedBytes() <= MAX_BYTES + EXECUTORS * POOL_BYTES + OTHER_BYTES
                            && bytesOfFiles(folder) <= MAX_BYTES + EXECUTORS * POOL_BYTES);
        }
        held.forEach((job, grouped) -> assertThat(GroupedBytes.sums(grouped)).isEqualTo(job.expected()));
        assertThat(folder.pools()).as("some have outlived their executor").isGreaterThan(EXECUTORS);
        assertThat(group.sharedBytes()).as("and are charged").isGreaterThan(OTHER_BYTES + 2 * MEBIBYTE);

        observer.dropAllShuffles();
        ShuffleObserver.await(
                "memory is that of idle pools",
                () -> folder.pools() == EXECUTORS
                        && bytesOfFiles(folder) <= EXECUTORS * 2 * MEBIBYTE
                        && group.sharedBytes() <= bytesOfFiles(folder) + OTHER_BYTES);
    }
}
