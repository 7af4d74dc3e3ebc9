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
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Tuple2;

/** Executors on hosts of their own, as far as the network goes: partitions, and speculation, which needs two hosts. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class NetworkFaultsIT {
    private static final int HOSTS = 3;
    private static final GroupedBytes JOB = new GroupedBytes(9, 6, 4);

    private static Map<Integer, Long> expected = Map.of();

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @BeforeAll
    static void runWithSortShuffle() throws Exception {
        expected = JOB.withSortShuffle();
        assertThat(expected).isNotEmpty();
    }

    private Map<String, String> conf(String heartbeatLimit) {
        return pools.conf(
                "spark.shuffle.compress", "false",
                "spark.reducer.maxSizeInFlight", "256k",
                "spark.shuffle.rdma.fetch.timeout", "15s",
                "spark.shuffle.io.retryWait", "500ms",
                "spark.shuffle.rdma.registry.sweepInterval", "2s",
                "spark.executor.heartbeatInterval", "1s",
                "spark.network.timeout", heartbeatLimit,
                "spark.network.timeoutInterval", "1s");
    }

    /**
     * Cuts one of three hosts off while reduce tasks read, and runs the job once more after that; returns who did not
     * stay.
     */
    private Set<String> removedByACut(ShuffleMode fabric, String heartbeatLimit, long cutMillis) throws Exception {
        try (ExecutorHosts hosts = ExecutorHosts.make(HOSTS);
                SparkCluster cluster = SparkCluster.start(HOSTS, fabric, hosts.conf(conf(heartbeatLimit)))) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            FaultTrigger fault =
                    FaultTrigger.at(cluster.context(), Place.REDUCE_TASK_STARTS, 2, () -> hosts.cutOff(1, cutMillis));
            assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(expected);
            fault.awaitEnd();
            Set<String> removed = tasks.removed();
            if (removed.isEmpty()) {
                assertThat(tasks.mapTasks()).isEqualTo(JOB.maps());
            }
            assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(expected);
            observer.assertAllComesBack();
            return removed;
        }
    }

    /** Over Netty blocks are late, in shared memory they are not; no output is lost. */
    @ParameterizedTest
    @EnumSource(names = {"AUTO", "NETTY"})
    void cutOffForLessThanTheHeartbeatLimit(ShuffleMode fabric) throws Exception {
        assertThat(removedByACut(fabric, "60s", 5_000)).isEmpty();
    }

    /** The driver gives up an executor that lives, and reads, and whose memory others may still have open. */
    @ParameterizedTest
    @EnumSource(names = {"AUTO", "NETTY"})
    void cutOffForLongerThanTheHeartbeatLimit(ShuffleMode fabric) throws Exception {
        assertThat(removedByACut(fabric, "6s", 20_000)).isNotEmpty();
    }

    /**
     * Two attempts of one map task write two map outputs; readers take those that Spark names, and both go in the end.
     */
    @Test
    void bothAttemptsOfASpeculativeTaskSucceed(@TempDir Path meeting) throws Exception {
        Map<String, String> conf = conf("60s");
        conf.put("spark.speculation", "true");
        conf.put("spark.speculation.interval", "100ms");
        conf.put("spark.speculation.minTaskRuntime", "100ms");
        conf.put("spark.speculation.multiplier", "1.1");
        conf.put("spark.speculation.quantile", "0.1");
        try (ExecutorHosts hosts = ExecutorHosts.make(2);
                SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, hosts.conf(conf))) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            // Whether the second is told to stop before it reports is a race that it mostly wins.
            for (int round = 0; round < 10 && tasks.secondSuccesses() == 0; round++) {
                Path folder = Files.createDirectory(meeting.resolve("round-" + round));
                assertThat(countsWithAMeeting(cluster, folder.toString()))
                        .hasSize(10)
                        .allSatisfy((key, count) -> assertThat(count).isEqualTo(1_000));
            }
            assertThat(tasks.secondSuccesses()).isPositive();
            observer.assertAllComesBack();
        }
    }

    /** The attempts of the first map task wait for each other, so that they end together. */
    private static Map<Integer, Integer> countsWithAMeeting(SparkCluster cluster, String folder) {
        return JavaSparkContext.fromSparkContext(cluster.context())
                .parallelize(IntStream.range(0, 10_000).boxed().toList(), 4)
                .mapPartitionsToPair(rows -> {
                    List<Integer> all = new java.util.ArrayList<>();
                    rows.forEachRemaining(all::add);
                    if (TaskContext.getPartitionId() == 0) {
                        meet(Path.of(folder));
                    }
                    return all.stream().map(i -> new Tuple2<>(i % 10, 1)).iterator();
                })
                .groupByKey(6)
                .mapValues(ones -> {
                    int count = 0;
                    for (int one : ones) {
                        count += one;
                    }
                    return count;
                })
                .collectAsMap();
    }

    private static void meet(Path folder) throws IOException, InterruptedException {
        Files.createFile(folder.resolve("attempt-" + TaskContext.get().taskAttemptId()));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (System.nanoTime() - deadline < 0) {
            try (Stream<Path> attempts = Files.list(folder)) {
                if (attempts.count() > 1) {
                    return;
                }
            }
            Thread.sleep(1);
        }
        throw new IOException("no second attempt came");
    }
}
