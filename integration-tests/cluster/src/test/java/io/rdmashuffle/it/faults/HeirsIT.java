// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.it.faults.FaultTrigger.Place;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.FetchFailed;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests of map outputs that outlive their executor where executors of another host read them: another executor of the
 * dead one's host serves its pool. Executor N is on host N modulo 2.
 */
@Tag("system")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class HeirsIT {
    private static final GroupedBytes JOB = new GroupedBytes(12, 8, 2);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();

    private ExecutorHosts hosts;

    @BeforeEach
    void open() throws Exception {
        hosts = ExecutorHosts.withOwnMemory(2);
    }

    @AfterEach
    void close() throws Exception {
        KindCluster.forgetLocalDirectories();
        hosts.close();
    }

    private SparkCluster start(int executors, ShuffleMode mode, String hold) {
        return SparkCluster.start(
                executors,
                mode,
                hosts.conf(Map.of(
                        "spark.shuffle.rdma.outlive.enabled", "true",
                        "spark.shuffle.rdma.outlive.hold", hold,
                        "spark.shuffle.rdma.pool.maxSize", "128m",
                        "spark.shuffle.rdma.pool.idleTimeout", "2s")));
    }

    private static void kill(SparkCluster cluster, String executorId) throws Exception {
        ProcessHandle victim = cluster.executorProcess(executorId);
        assertThat(victim.destroyForcibly()).isTrue();
        victim.onExit().get(30, TimeUnit.SECONDS);
    }

    /** Executors of the other host read over TCP, or over Spark's block transfer. */
    private void killBetweenStages(ShuffleMode mode, ShuffleCounter path) throws Exception {
        try (SparkCluster cluster = start(3, mode, "1min")) {
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            JavaPairRDD<Integer, Long> grouped = JOB.prepare(cluster.spark(), ShuffleKind.IN_PLACE);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            assertThat(observer.outputsByExecutor()).containsKeys("0", "1", "2");

            kill(cluster, "0");
            tasks.awaitRemoval("0", 60);
            cluster.awaitExecutors(3);
            ClusterStatistics before = observer.statistics();
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            ClusterStatistics after = observer.statistics();
            assertThat(after.total(path)).isGreaterThan(before.total(path));
            assertThat(after.total(ShuffleCounter.POOLS_INHERITED)).isOne();
            if (path == ShuffleCounter.TCP_BYTES) {
                assertThat(after.total(ShuffleCounter.NETTY_BYTES)).isEqualTo(before.total(ShuffleCounter.NETTY_BYTES));
            }

            // The next heir is an executor that has come in its place.
            kill(cluster, "2");
            tasks.awaitRemoval("2", 60);
            cluster.awaitExecutors(3);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);

            assertThat(tasks.failures()).isEmpty();
            assertThat(tasks.mapTasks()).as("none is run again").isEqualTo(JOB.maps());
            observer.dropAllShuffles();
            ShuffleObserver.await("pools of ended executors are removed", () -> pools() <= 3);
        }
    }

    private int pools() {
        return hosts.pools(0).size() + hosts.pools(1).size();
    }

    @Test
    void anotherExecutorOfItsHostServesItOverTcp() throws Exception {
        killBetweenStages(ShuffleMode.AUTO, ShuffleCounter.TCP_BYTES);
    }

    @Test
    void anotherExecutorOfItsHostServesItOverNetty() throws Exception {
        killBetweenStages(ShuffleMode.SHM, ShuffleCounter.NETTY_BYTES);
    }

    /** The third heir has come after the first kill, and serves the pools of all before it. */
    @Test
    @Tag("nightly")
    void heirsOfHeirsServeAllPools() throws Exception {
        try (SparkCluster cluster = start(5, ShuffleMode.AUTO, "1min")) {
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            JavaPairRDD<Integer, Long> grouped = JOB.prepare(cluster.spark(), ShuffleKind.IN_PLACE);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            List<String> victims = new ArrayList<>(List.of("0"));
            for (int kills = 1; kills <= 3; kills++) {
                kill(cluster, victims.get(0));
                tasks.awaitRemoval(victims.get(0), 60);
                cluster.awaitExecutors(5);
                assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
                victims.add(0, heir(observer));
            }
            assertThat(victims).doesNotHaveDuplicates();
            assertThat(tasks.failures()).isEmpty();
            assertThat(tasks.mapTasks()).as("none is run again").isEqualTo(JOB.maps());
        }
    }

    /** Returns an executor that serves pools of others. */
    private static String heir(ShuffleObserver observer) {
        return observer.statistics().byExecutor().entrySet().stream()
                .filter(executor -> executor.getValue().getOrDefault(ShuffleCounter.POOLS_INHERITED, 0L) > 0)
                .map(Map.Entry::getKey)
                .findAny()
                .orElseThrow();
    }

    /** Over TCP, and over Spark's block transfer only. */
    @ParameterizedTest
    @EnumSource(names = {"AUTO", "SHM"})
    void readersWaitForTheHeirOfOneThatIsKilledWhileTheyRead(ShuffleMode mode) throws Exception {
        try (SparkCluster cluster = start(3, mode, "1min")) {
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            JavaPairRDD<Integer, Long> grouped = JOB.prepare(cluster.spark(), ShuffleKind.IN_PLACE);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            FaultTrigger fault =
                    FaultTrigger.at(cluster.context(), Place.REDUCE_TASK_STARTS, 2, () -> kill(cluster, "0"));
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            fault.awaitEnd();
            assertThat(tasks.failures()).noneMatch(FetchFailed.class::isInstance);
            assertThat(tasks.mapTasks()).as("none is run again").isEqualTo(JOB.maps());
        }
    }

    /** Each of six hosts has one executor, so five have no heir. */
    @Test
    void withoutAnHeirInTimeTheMapTasksAreRunAgain() throws Exception {
        hosts.close();
        hosts = ExecutorHosts.withOwnMemory(6);
        try (SparkCluster cluster = start(6, ShuffleMode.AUTO, "1ms")) {
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            JavaPairRDD<Integer, Long> grouped = JOB.prepare(cluster.spark(), ShuffleKind.IN_PLACE);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            List<String> victims = List.of("0", "1", "2", "3", "4");
            Map<String, Long> outputs = observer.outputsByExecutor();
            long lost = victims.stream()
                    .mapToLong(victim -> outputs.getOrDefault(victim, 0L))
                    .sum();
            assertThat(lost).isPositive();
            for (String victim : victims) {
                kill(cluster, victim);
            }
            for (String victim : victims) {
                tasks.awaitRemoval(victim, 60);
            }
            ShuffleObserver.await(
                    "their outputs are dropped",
                    () -> Collections.disjoint(observer.outputsByExecutor().keySet(), victims));
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            assertThat(tasks.failures()).as("no reduce task met a lost output").isEmpty();
            assertThat((long) tasks.mapTasks()).as("each lost one once again").isEqualTo(JOB.maps() + lost);
        }
    }
}
