// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ProcessFootprint;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleKinds;
import io.rdmashuffle.it.faults.KindCluster.Watched;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;

/**
 * Tests of invariant I3 over many shuffles: resources of a shuffle end with it, in the plugin's and in the kernel's
 * counts.
 */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class GrowthIT {
    private static final int WARM_UP = 10;
    private static final int IN_SEQUENCE = 50;
    private static final int AT_ONCE = 8;
    private static final GroupedBytes JOB = new GroupedBytes(4, 4, 0);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();

    /**
     * Connections of Spark's come and go, and threads start when first needed; what each shuffle of 50 left would be
     * more.
     */
    private static final int SLACK = 12;

    @TempDir
    Path local;

    @ParameterizedTest
    @Tag("nightly")
    @ShuffleKinds({ShuffleKind.IN_PLACE, ShuffleKind.COPIED, ShuffleKind.OVER_TCP, ShuffleKind.ON_DISK})
    void fiftyShufflesInSequenceAndEightAtOnceLeaveNothing(ShuffleKind kind) throws Exception {
        try (KindCluster cluster = KindCluster.start(kind, 2, local, Map.of())) {
            Watched watched = cluster.watch();
            atOnce(watched, AT_ONCE);
            inSequence(watched, WARM_UP);
            Map<Long, ProcessFootprint> before =
                    ProcessFootprint.of(cluster.spark().executorProcesses());
            assertThat(before).hasSize(2);

            inSequence(watched, IN_SEQUENCE);
            assertNotGrown(cluster.spark(), before);
            atOnce(watched, AT_ONCE);
            watched.assertReadSoAndAllComesBack();
            assertNotGrown(cluster.spark(), before);
        }
    }

    private static void inSequence(Watched watched, int shuffles) throws Exception {
        for (int i = 0; i < shuffles; i++) {
            assertThat(GroupedBytes.sums(watched.prepare(JOB))).isEqualTo(EXPECTED);
            watched.observer().dropAllShuffles();
        }
        watched.observer().assertAllComesBack();
    }

    private static void atOnce(Watched watched, int shuffles) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(shuffles);
        try {
            List<Future<Map<Integer, Long>>> results = IntStream.range(0, shuffles)
                    .mapToObj(i -> threads.submit(() -> GroupedBytes.sums(watched.prepare(JOB))))
                    .toList();
            for (Future<Map<Integer, Long>> result : results) {
                assertThat(result.get(2, TimeUnit.MINUTES)).isEqualTo(EXPECTED);
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
