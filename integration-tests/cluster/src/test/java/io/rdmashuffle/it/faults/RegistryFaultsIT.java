// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A driver's registry that is hard to hear: nothing fails, and executors find each other in the end. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class RegistryFaultsIT {
    private static final int EXECUTORS = 3;
    private static final GroupedBytes JOB = new GroupedBytes(9, 6, 0);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @Test
    void lostDuplicateOrLateMessagesCostOnlySpeed() throws Exception {
        runJobs(1);
    }

    @ParameterizedTest
    @Tag("nightly")
    @ValueSource(longs = {2, 3})
    void messagesOfMoreSeedsCostAtMostTheFastPath(long seed) throws Exception {
        runJobs(seed);
    }

    private void runJobs(long seed) throws Exception {
        Map<String, String> conf = pools.conf(
                "spark.shuffle.manager",
                LossyRegistryManager.class.getName(),
                LossyRegistryManager.SEED,
                Long.toString(seed),
                "spark.shuffle.rdma.registry.timeout",
                "1s",
                "spark.shuffle.rdma.peer.quarantine",
                "0ms");
        try (SparkCluster cluster = SparkCluster.start(EXECUTORS, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            for (int round = 0; round < 6; round++) {
                assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
            }
            assertThat(tasks.failures()).isEmpty();

            // A new executor has to become known as well.
            ProcessHandle victim = cluster.executorProcesses().get(0);
            assertThat(victim.destroyForcibly()).isTrue();
            victim.onExit().get(30, TimeUnit.SECONDS);
            for (int round = 0; round < 6; round++) {
                assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
            }
            cluster.awaitExecutors(EXECUTORS);
            ShuffleObserver.await("shared memory is the only path", () -> sharedMemoryAlone(cluster, observer));
            observer.assertAllComesBack();
        }
    }

    /** Runs the job again; returns whether every executor, including a late one, takes part and found its peers. */
    private static boolean sharedMemoryAlone(SparkCluster cluster, ShuffleObserver observer) {
        ClusterStatistics before = observer.statistics();
        long shm = before.total(ShuffleCounter.SHM_BYTES);
        long netty = before.total(ShuffleCounter.NETTY_BYTES);
        assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
        ClusterStatistics after = observer.statistics();
        return before.byExecutor().size() == EXECUTORS
                && after.byExecutor().size() == EXECUTORS
                && after.total(ShuffleCounter.SHM_BYTES) > shm
                && after.total(ShuffleCounter.NETTY_BYTES) == netty;
    }
}
