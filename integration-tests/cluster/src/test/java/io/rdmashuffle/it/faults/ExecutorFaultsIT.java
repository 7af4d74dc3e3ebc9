// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.it.faults.FaultTrigger.Place;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.FetchFailed;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Tuple2;

/** Executors that die, stand still, run out of memory or are told to drop what they do: invariants I3, I6 and I7. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class ExecutorFaultsIT {
    private static final int EXECUTORS = 3;
    private static final GroupedBytes JOB = new GroupedBytes(12, 8, 2);
    private static final Duration STOPPED = Duration.ofSeconds(8);

    private static Map<Integer, Long> expected = Map.of();

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @BeforeAll
    static void runWithSortShuffle() throws Exception {
        expected = JOB.withSortShuffle();
        assertThat(expected).isNotEmpty();
    }

    /**
     * Small requests, so that a reduce task fetches all the while that it reads; impatience, so that faults are
     * noticed.
     */
    private SparkCluster start(ShuffleMode fabric, String... more) {
        Map<String, String> conf = pools.conf(more);
        conf.put("spark.shuffle.compress", "false");
        conf.put("spark.reducer.maxSizeInFlight", "256k");
        conf.put("spark.shuffle.rdma.fabric.readTimeout", "2s");
        conf.put("spark.shuffle.rdma.fetch.timeout", "4s");
        conf.put("spark.shuffle.io.retryWait", "500ms");
        conf.put("spark.shuffle.rdma.registry.sweepInterval", "2s");
        return SparkCluster.start(EXECUTORS, fabric, conf);
    }

    private static void kill(SparkCluster cluster, int executor) throws Exception {
        ProcessHandle victim = cluster.executorProcesses().get(executor);
        assertThat(victim.destroyForcibly()).isTrue();
        victim.onExit().get(30, TimeUnit.SECONDS);
    }

    @Test
    void killedDuringTheMapStage() throws Exception {
        try (SparkCluster cluster = start(ShuffleMode.AUTO)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            FaultTrigger fault = FaultTrigger.at(cluster.context(), Place.MAP_TASK_ENDS, 4, () -> kill(cluster, 1));
            assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(expected);
            fault.awaitEnd();
            observer.assertAllComesBack();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"AUTO", "NETTY"})
    void killedWhileOthersRead(ShuffleMode fabric) throws Exception {
        try (SparkCluster cluster = start(fabric)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            FaultTrigger fault =
                    FaultTrigger.at(cluster.context(), Place.REDUCE_TASK_STARTS, 2, () -> kill(cluster, 0));
            assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(expected);
            fault.awaitEnd();
            // What the victim had was written again.
            assertThat(tasks.mapTasks()).isGreaterThan(JOB.maps());
            observer.assertAllComesBack();
        }
    }

    /** Half of what it had is elsewhere then, the other half is nowhere. */
    @Test
    void killedWhileItDecommissions() throws Exception {
        try (SparkCluster cluster = start(
                ShuffleMode.AUTO,
                "spark.decommission.enabled",
                "true",
                "spark.storage.decommission.enabled",
                "true",
                "spark.storage.decommission.shuffleBlocks.maxThreads",
                "1")) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            JavaPairRDD<Integer, Iterable<GroupedBytes.Row>> grouped = JOB.prepare(cluster.spark());
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(expected);

            String leaver = observer.executorWithMostOutputs();
            long had = observer.outputsByExecutor().getOrDefault(leaver, 0L);
            ProcessHandle process = cluster.executorProcess(leaver);
            cluster.decommission(leaver);
            ShuffleObserver.await(
                    "the first output moves", () -> observer.outputsByExecutor().getOrDefault(leaver, 0L) < had);
            assertThat(process.destroyForcibly()).isTrue();
            tasks.awaitRemoval(leaver, 90);

            assertThat(GroupedBytes.sums(grouped)).isEqualTo(expected);
            observer.assertAllComesBack();
        }
    }

    /** In shared memory a read does not need the owner's help; over Netty its silence must end in a fetch failure. */
    @ParameterizedTest
    @EnumSource(names = {"AUTO", "NETTY"})
    void stoppedForLongerThanAFetchMayTake(ShuffleMode fabric) throws Exception {
        try (SparkCluster cluster = start(fabric)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            FaultTrigger fault = FaultTrigger.at(
                    cluster.context(), Place.REDUCE_TASK_STARTS, 2, () -> Signals.stop(cluster, 0, STOPPED));
            assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(expected);
            fault.awaitEnd();
            if (fabric == ShuffleMode.NETTY) {
                assertThat(tasks.failures()).anyMatch(FetchFailed.class::isInstance);
            } else {
                assertThat(tasks.failures()).isEmpty();
            }
            observer.assertAllComesBack();
        }
    }

    /** A fetch failure makes the driver take the owner for lost, and tell it nothing until its next heartbeat. */
    @Test
    void aShuffleRemovedWhileSparkTakesItsExecutorForLostGoesThereToo() throws Exception {
        try (SparkCluster cluster = start(ShuffleMode.AUTO)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(expected);
            String lost = observer.executorWithMostOutputs();
            SparkEnv.get().blockManager().master().removeExecutor(lost);
            observer.assertAllComesBack();
        }
    }

    /**
     * The executor that ends refuses tasks, and the driver, which does not know yet, sends it each attempt of a task
     * unless it is told to avoid executors where that task has failed.
     */
    @Test
    void outOfMemoryInAReduceTask() throws Exception {
        try (SparkCluster cluster = start(ShuffleMode.AUTO, "spark.excludeOnFailure.enabled", "true")) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            JavaPairRDD<Integer, Iterable<GroupedBytes.Row>> grouped = JOB.prepare(cluster.spark())
                    .mapValues(rows -> {
                        TaskContext task = TaskContext.get();
                        if (task.partitionId() == 0 && task.stageAttemptNumber() == 0 && task.attemptNumber() == 0) {
                            long[] tooMuch = new long[Integer.MAX_VALUE - 8];
                            throw new IllegalStateException("1 GB of heap held " + tooMuch.length + " longs");
                        }
                        return rows;
                    });
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(expected);
            assertThat(tasks.failures())
                    .isNotEmpty()
                    .allMatch(reason -> !reason.toString().contains("IllegalStateException"));
            observer.assertAllComesBack();
        }
    }

    /** A reader that is told to stop gives back what it was reading into, and nothing is written there later: I7. */
    @ParameterizedTest
    @EnumSource(names = {"SHM", "NETTY"})
    void cancelledWhileItReads(ShuffleMode fabric) throws Exception {
        try (SparkCluster cluster = start(fabric, "spark.shuffle.rdma.fabric.shm.inPlace", "false")) {
            JavaSparkContext context = JavaSparkContext.fromSparkContext(cluster.context());
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            JavaPairRDD<Integer, Iterable<GroupedBytes.Row>> grouped = JOB.prepare(cluster.spark());
            for (int round = 0; round < 6; round++) {
                FaultTrigger reading =
                        FaultTrigger.at(cluster.context(), Place.REDUCE_TASK_STARTS, 1 + round, () -> {});
                context.setJobGroup("cancelled", "round " + round, true);
                JavaFutureAction<List<Tuple2<Integer, Integer>>> action =
                        grouped.mapValues(rows -> 1).collectAsync();
                reading.awaitEnd();
                context.cancelJobGroup("cancelled");
                context.clearJobGroup();
                assertThat(action).failsWithin(Duration.ofSeconds(60));
            }
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(expected);
            observer.assertAllComesBack();
        }
    }

    /**
     * Which row goes to which partition of the second stage depends on the order in which blocks arrived, so that when
     * one of its outputs is lost, all must be written again, and all that read them.
     */
    @Test
    void indeterminateStageIsRolledBack() throws Exception {
        int rows = 30_000;
        try (SparkCluster cluster = start(ShuffleMode.AUTO)) {
            SparkSession spark = cluster.spark();
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
            JavaPairRDD<Integer, Integer> reduced = context.parallelize(
                            IntStream.range(0, rows).boxed().toList(), 6)
                    .mapToPair(i -> new Tuple2<>(i, i))
                    .reduceByKey(Integer::sum, 6)
                    .repartition(5)
                    .mapToPair(pair -> {
                        if (pair._1() % 100 == 0) {
                            Thread.sleep(10);
                        }
                        return new Tuple2<>(pair._1() % 10, 1);
                    })
                    .reduceByKey(Integer::sum, 4);
            // 6 of the first, 6 of the second that shuffles round robin, 2 of the third that reads it.
            FaultTrigger fault = FaultTrigger.at(cluster.context(), Place.MAP_TASK_ENDS, 14, () -> kill(cluster, 0));
            Map<Integer, Integer> counts = reduced.collectAsMap();
            fault.awaitEnd();
            assertThat(counts)
                    .hasSize(10)
                    .allSatisfy((key, count) -> assertThat(count).isEqualTo(rows / 10));
            assertThat(tasks.stageAttempts()).isGreaterThan(4);
            observer.assertAllComesBack();
        }
    }
}
