// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleKinds;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.faults.FaultTrigger.Place;
import io.rdmashuffle.it.faults.KindCluster.Watched;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.spark.Resubmitted$;
import org.apache.spark.api.java.JavaPairRDD;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;

/** Tests of map outputs that outlive their executor, on a host whose executors all share memory. */
@Tag("system")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
@ParameterizedClass
@ShuffleKinds({ShuffleKind.IN_PLACE, ShuffleKind.COPIED, ShuffleKind.ON_DISK})
class OutlivingIT {
    private static final int EXECUTORS = 3;
    private static final GroupedBytes JOB = new GroupedBytes(12, 8, 2);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();
    private static final Map<String, String> CONF =
            Map.of("spark.shuffle.rdma.outlive.enabled", "true", "spark.shuffle.rdma.pool.idleTimeout", "2s");

    @TempDir
    static Path local;

    private static @Nullable KindCluster shared;

    private final KindCluster cluster = Objects.requireNonNull(shared);

    private final ShuffleKind kind;

    OutlivingIT(ShuffleKind kind) {
        this.kind = kind;
    }

    @BeforeParameterizedClassInvocation
    static void start(ShuffleKind kind) throws Exception {
        shared = KindCluster.start(kind, EXECUTORS, local, CONF);
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        KindCluster held = shared;
        if (held != null) {
            held.spark().close();
            // Executors end on their own.
            ShuffleObserver.await("no pool is left", () -> held.pools().pools() == 0);
            held.close();
        }
    }

    /** Waits until Spark has noticed the loss and started another executor, which sweeps. */
    private void awaitReplacement(Watched watched, String lost) throws Exception {
        watched.tasks().awaitRemoval(lost, 60);
        cluster.spark().awaitExecutors(EXECUTORS);
    }

    private void kill(String executorId) throws Exception {
        ProcessHandle victim = cluster.spark().executorProcess(executorId);
        assertThat(victim.destroyForcibly()).isTrue();
        victim.onExit().get(30, TimeUnit.SECONDS);
    }

    private void assertOnlyLivingPoolsAreLeft(Watched watched) throws Exception {
        watched.assertReadSoAndAllComesBack();
        ShuffleObserver.await(
                "the pools of ended executors are removed",
                () -> cluster.pools().pools() == EXECUTORS);
    }

    @Test
    void killedBetweenStages() throws Exception {
        Watched watched = cluster.watch();
        JavaPairRDD<Integer, Long> grouped = watched.prepare(JOB);
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
        for (String victim : watched.observer().outputsByExecutor().keySet().stream()
                .limit(EXECUTORS - 1)
                .toList()) {
            kill(victim);
            awaitReplacement(watched, victim);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
        }
        assertThat(watched.tasks().failures()).isEmpty();
        assertThat(watched.tasks().mapTasks()).isEqualTo(JOB.maps());
        assertOnlyLivingPoolsAreLeft(watched);
    }

    @Test
    void killedDuringTheMapStage() throws Exception {
        Watched watched = cluster.watch();
        FaultTrigger fault = FaultTrigger.at(
                cluster.spark().context(),
                Place.MAP_TASK_ENDS,
                4,
                () -> kill(watched.observer().executorWithMostOutputs()));
        assertThat(GroupedBytes.sums(watched.prepare(JOB))).isEqualTo(EXPECTED);
        fault.awaitEnd();
        assertThat(watched.tasks().failures()).doesNotContain(Resubmitted$.MODULE$);
        assertThat(watched.tasks().mapTasks())
                .as("only what the victim was running is written again")
                .isLessThanOrEqualTo(JOB.maps() + 1);
        assertOnlyLivingPoolsAreLeft(watched);
    }

    /** Those on disk end with the executor's local directories, which Spark removes. */
    @Test
    void anExecutorThatIsToldToEndLeavesItsOutputs() throws Exception {
        Watched watched = cluster.watch();
        JavaPairRDD<Integer, Long> grouped = watched.prepare(JOB);
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
        String leaver = watched.observer().executorWithMostOutputs();
        assertThat(cluster.spark().executorProcess(leaver).destroy()).isTrue();
        awaitReplacement(watched, leaver);
        boolean stay = kind != ShuffleKind.ON_DISK;
        ShuffleObserver.await(
                "its outputs are dropped if they are on disk",
                () -> watched.observer().outputsByExecutor().containsKey(leaver) == stay);
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
        assertThat(watched.tasks().failures()).isEmpty();
        if (stay) {
            assertThat(watched.tasks().mapTasks()).isEqualTo(JOB.maps());
        } else {
            assertThat(watched.tasks().mapTasks()).isGreaterThan(JOB.maps());
        }
        assertOnlyLivingPoolsAreLeft(watched);
    }
}
