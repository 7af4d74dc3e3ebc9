// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleKinds;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.it.faults.FaultTrigger.Place;
import io.rdmashuffle.it.faults.KindCluster.Watched;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.spark.FetchFailed;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import scala.Tuple2;

/**
 * Tests of executors that die, pause, run out of memory, cancel tasks, or have overwritten memory, for every kind of
 * shuffle: invariants I3, I6 and I7. Map outputs outlive their executor where its memory is shared.
 */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@ParameterizedClass
@ShuffleKinds({
    ShuffleKind.COPIED,
    ShuffleKind.IN_PLACE,
    ShuffleKind.ON_DISK,
    ShuffleKind.STREAMS,
    ShuffleKind.OVER_TCP,
    ShuffleKind.OVER_NETTY
})
class ExecutorFaultsIT {
    private static final int EXECUTORS = 3;
    private static final GroupedBytes JOB = new GroupedBytes(12, 8, 2);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();
    private static final Duration STOPPED = Duration.ofSeconds(8);

    /**
     * Small requests, so that a reduce task fetches all the while that it reads; impatience, so that faults are
     * noticed. An executor that ends refuses tasks, and the driver, which does not know yet, would send it each attempt
     * of a task if it were not told to avoid executors where that task has failed.
     */
    private static final Map<String, String> CONF = Map.ofEntries(
            Map.entry("spark.reducer.maxSizeInFlight", "256k"),
            Map.entry("spark.shuffle.rdma.fabric.readTimeout", "2s"),
            Map.entry("spark.shuffle.rdma.fetch.timeout", "4s"),
            Map.entry("spark.shuffle.rdma.registry.sweepInterval", "2s"),
            Map.entry("spark.shuffle.io.retryWait", "500ms"),
            Map.entry("spark.executor.heartbeatInterval", "2s"),
            Map.entry("spark.decommission.enabled", "true"),
            Map.entry("spark.storage.decommission.enabled", "true"),
            Map.entry("spark.storage.decommission.shuffleBlocks.maxThreads", "1"),
            Map.entry("spark.excludeOnFailure.taskAndStage.enabled", "true"),
            Map.entry("spark.excludeOnFailure.task.maxTaskAttemptsPerNode", "100"),
            Map.entry("spark.excludeOnFailure.stage.maxFailedTasksPerExecutor", "100"),
            Map.entry("spark.excludeOnFailure.stage.maxFailedExecutorsPerNode", "100"));

    @TempDir
    static Path local;

    private static @Nullable KindCluster shared;

    private final ShuffleKind kind;
    private final KindCluster cluster;

    ExecutorFaultsIT(ShuffleKind kind) {
        this.kind = kind;
        this.cluster = Objects.requireNonNull(shared);
    }

    @BeforeParameterizedClassInvocation
    static void start(ShuffleKind kind) throws Exception {
        shared = KindCluster.start(kind, EXECUTORS, local, CONF);
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        if (shared != null) {
            shared.close();
        }
    }

    private void kill(int executor) throws Exception {
        ProcessHandle victim = cluster.spark().executorProcesses().get(executor);
        assertThat(victim.destroyForcibly()).isTrue();
        victim.onExit().get(30, TimeUnit.SECONDS);
    }

    /** Returns whether other executors serve the outputs of one that is decommissioned. */
    private boolean outlives() {
        return kind == ShuffleKind.COPIED || kind == ShuffleKind.IN_PLACE || kind == ShuffleKind.STREAMS;
    }

    private FaultTrigger at(Place place, int count, FaultTrigger.Fault fault) {
        return FaultTrigger.at(cluster.spark().context(), place, count, fault);
    }

    @Test
    void killedDuringTheMapStage() throws Exception {
        Watched watched = cluster.watch();
        FaultTrigger fault = at(Place.MAP_TASK_ENDS, 4, () -> kill(1));
        assertThat(GroupedBytes.sums(watched.prepare(JOB))).isEqualTo(EXPECTED);
        fault.awaitEnd();
        watched.assertReadSoAndAllComesBack();
    }

    @Test
    void killedWhileOthersRead() throws Exception {
        Watched watched = cluster.watch();
        FaultTrigger fault = at(Place.REDUCE_TASK_STARTS, 2, () -> kill(0));
        assertThat(GroupedBytes.sums(watched.prepare(JOB))).isEqualTo(EXPECTED);
        fault.awaitEnd();
        if (kind == ShuffleKind.OVER_NETTY || kind == ShuffleKind.OVER_TCP) {
            assertThat(watched.tasks().mapTasks()).as("its outputs are lost").isGreaterThan(JOB.maps());
        } else {
            assertThat(watched.tasks().mapTasks()).as("its outputs outlive it").isEqualTo(JOB.maps());
        }
        watched.assertReadSoAndAllComesBack();
    }

    /** Half of its outputs have moved then, the other half is lost; or none need move, and all stay. */
    @Test
    void killedWhileItDecommissions() throws Exception {
        Watched watched = cluster.watch();
        ShuffleObserver observer = watched.observer();
        JavaPairRDD<Integer, Long> grouped = watched.prepare(JOB);
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);

        String leaver = observer.executorWithMostOutputs();
        long had = observer.outputsByExecutor().getOrDefault(leaver, 0L);
        SparkCluster spark = cluster.spark();
        ProcessHandle process = spark.executorProcess(leaver);
        spark.decommission(leaver);
        if (!outlives()) {
            ShuffleObserver.await(
                    "the first output moves", () -> observer.outputsByExecutor().getOrDefault(leaver, 0L) < had);
        }
        assertThat(process.destroyForcibly()).isTrue();
        watched.tasks().awaitRemoval(leaver, 90);

        assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
        if (outlives()) {
            assertThat(watched.tasks().mapTasks()).isEqualTo(JOB.maps());
        }
        watched.assertReadSoAndAllComesBack();
    }

    /** In shared memory a read does not need the owner's help; over a network its silence ends in a fetch failure. */
    @Test
    void stoppedForLongerThanAFetchMayTake() throws Exception {
        Watched watched = cluster.watch();
        FaultTrigger fault = at(Place.REDUCE_TASK_STARTS, 2, () -> Signals.stop(cluster.spark(), 0, STOPPED));
        assertThat(GroupedBytes.sums(watched.prepare(JOB))).isEqualTo(EXPECTED);
        fault.awaitEnd();
        if (kind == ShuffleKind.OVER_NETTY || kind == ShuffleKind.OVER_TCP) {
            assertThat(watched.tasks().failures()).anyMatch(FetchFailed.class::isInstance);
        } else {
            assertThat(watched.tasks().failures()).isEmpty();
        }
        watched.assertReadSoAndAllComesBack();
    }

    /** A fetch failure makes the driver take the owner for lost, and tell it nothing until its next heartbeat. */
    @Test
    void removalReachesAnOwnerThatWasTakenForLost() throws Exception {
        Watched watched = cluster.watch();
        assertThat(GroupedBytes.sums(watched.prepare(JOB))).isEqualTo(EXPECTED);
        String lost = watched.observer().executorWithMostOutputs();
        SparkEnv.get().blockManager().master().removeExecutor(lost);
        watched.assertReadSoAndAllComesBack();
    }

    /** One that has no map output of it has only read it, and remembers where from. */
    @Test
    void removalReachesAReaderThatWasTakenForLost() throws Exception {
        Watched watched = cluster.watch();
        GroupedBytes oneOutput = new GroupedBytes(1, 12, 0);
        assertThat(GroupedBytes.sums(watched.prepare(oneOutput))).isEqualTo(oneOutput.expected());
        String owner = watched.observer().executorWithMostOutputs();
        String reader = watched.observer().statistics().byExecutor().keySet().stream()
                .filter(executor -> !executor.equals(owner))
                .findAny()
                .orElseThrow();
        SparkEnv.get().blockManager().master().removeExecutor(reader);
        watched.observer().assertAllComesBack();
    }

    @Test
    void outOfMemoryInAReduceTask() throws Exception {
        Watched watched = cluster.watch();
        JavaPairRDD<Integer, Long> grouped = watched.prepare(JOB).mapValues(sum -> {
            TaskContext task = TaskContext.get();
            if (task.partitionId() == 0 && task.stageAttemptNumber() == 0 && task.attemptNumber() == 0) {
                long[] tooMuch = new long[Integer.MAX_VALUE - 8];
                throw new IllegalStateException("1 GB of heap held " + tooMuch.length + " longs");
            }
            return sum;
        });
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
        assertThat(watched.tasks().failures())
                .isNotEmpty()
                .allMatch(reason -> !reason.toString().contains("IllegalStateException"));
        watched.assertReadSoAndAllComesBack();
    }

    /** A cancelled reader releases its targets, and nothing is written there later: I7. */
    @Test
    void cancelledWhileItReads() throws Exception {
        Watched watched = cluster.watch();
        JavaSparkContext context =
                JavaSparkContext.fromSparkContext(cluster.spark().context());
        JavaPairRDD<Integer, Long> grouped = watched.prepare(JOB);
        for (int round = 0; round < 6; round++) {
            FaultTrigger reading = at(Place.REDUCE_TASK_STARTS, 1 + round, () -> {});
            context.setJobGroup("cancelled", "round " + round, round % 2 == 0);
            JavaFutureAction<List<Tuple2<Integer, Long>>> action = grouped.collectAsync();
            reading.awaitEnd();
            context.cancelJobGroup("cancelled");
            context.clearJobGroup();
            assertThat(action).failsWithin(Duration.ofSeconds(60));
        }
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
        watched.assertReadSoAndAllComesBack();
    }

    /** Overwritten map outputs of an executor are written again. */
    @Test
    void overwrittenWhereItIsStored() throws Exception {
        // Remains of killed executors are not damaged.
        GroupedBytes job = JOB.ofSeries(1);
        Map<Integer, Long> expected = job.expected();
        Watched watched = cluster.watch();
        TaskRecorder tasks = watched.tasks();
        JavaPairRDD<Integer, Long> grouped = watched.prepare(job);
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(expected);
        assertThat(tasks.mapTasks()).isEqualTo(job.maps());

        assertThat(StoredRecords.damage(cluster.pools().path(), local, job)).isPositive();
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(expected);
        assertThat(tasks.mapTasks()).isGreaterThan(job.maps());
        watched.assertReadSoAndAllComesBack();
    }
}
