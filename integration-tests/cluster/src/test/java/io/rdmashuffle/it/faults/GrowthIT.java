// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ProcessFootprint;
import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleObserver;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Invariant I3 over many shuffles: what one shuffle held goes with it, in the plugin's accounts and in the kernel's.
 */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class GrowthIT {
    private static final int WARM_UP = 10;
    private static final int IN_SEQUENCE = 50;
    private static final int AT_ONCE = 8;
    private static final GroupedBytes JOB = new GroupedBytes(4, 4, 0);

    /**
     * Connections of Spark's come and go, and threads start when first needed; what each shuffle of 50 left would be
     * more.
     */
    private static final int SLACK = 12;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @Test
    void fiftyShufflesInSequenceAndEightAtOnceLeaveNothing() throws Exception {
        Map<Integer, Long> expected = JOB.withSortShuffle();
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, pools.conf())) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            atOnce(cluster, AT_ONCE, expected);
            inSequence(cluster, WARM_UP, observer, expected);
            Map<Long, ProcessFootprint> before = ProcessFootprint.of(cluster.executorProcesses());
            assertThat(before).hasSize(2);

            inSequence(cluster, IN_SEQUENCE, observer, expected);
            assertNotGrown(cluster, before);
            atOnce(cluster, AT_ONCE, expected);
            observer.assertAllComesBack();
            assertNotGrown(cluster, before);
        }
    }

    private static void inSequence(
            SparkCluster cluster, int shuffles, ShuffleObserver observer, Map<Integer, Long> expected)
            throws Exception {
        for (int i = 0; i < shuffles; i++) {
            assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(expected);
            observer.dropAllShuffles();
        }
        observer.assertAllComesBack();
    }

    private static void atOnce(SparkCluster cluster, int shuffles, Map<Integer, Long> expected) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(shuffles);
        try {
            List<Future<Map<Integer, Long>>> results = IntStream.range(0, shuffles)
                    .mapToObj(i -> threads.submit(() -> GroupedBytes.sums(JOB.prepare(cluster.spark()))))
                    .toList();
            for (Future<Map<Integer, Long>> result : results) {
                assertThat(result.get(2, TimeUnit.MINUTES)).isEqualTo(expected);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static void assertNotGrown(SparkCluster cluster, Map<Long, ProcessFootprint> before) {
        Map<Long, ProcessFootprint> after = ProcessFootprint.of(cluster.executorProcesses());
        assertThat(after.keySet()).isEqualTo(before.keySet());
        after.forEach((pid, now) -> {
            ProcessFootprint then = Objects.requireNonNull(before.get(pid));
            String growth = now.growthSince(then);
            assertThat(now.poolMappings()).as(growth).isLessThanOrEqualTo(then.poolMappings());
            assertThat(now.threadsNamed("rdma-")).as(growth).isLessThanOrEqualTo(then.threadsNamed("rdma-") + SLACK);
            assertThat(now.descriptors()).as(growth).isLessThanOrEqualTo(then.descriptors() + SLACK);
        });
    }
}
