// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleKinds;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.it.faults.FaultTrigger.Place;
import io.rdmashuffle.it.faults.KindCluster.Watched;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;

/** Executors on hosts of their own, as far as the network goes, that are cut off for a while. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class NetworkFaultsIT {
    private static final int HOSTS = 3;
    private static final GroupedBytes JOB = new GroupedBytes(9, 6, 4);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();

    /** The heartbeat limit. */
    private static final int LIMIT_SECONDS = 12;

    private static final long SHORT_MILLIS = 4_000;
    private static final long LONG_MILLIS = 26_000;

    @TempDir
    Path local;

    static Map<String, String> conf(int heartbeatLimitSeconds) {
        return new HashMap<>(Map.of(
                "spark.reducer.maxSizeInFlight", "256k",
                "spark.shuffle.rdma.fetch.timeout", "15s",
                "spark.shuffle.io.retryWait", "500ms",
                "spark.shuffle.rdma.registry.sweepInterval", "2s",
                "spark.executor.heartbeatInterval", "1s",
                "spark.network.timeout", heartbeatLimitSeconds + "s",
                "spark.network.timeoutInterval", "1s"));
    }

    /**
     * Cuts one of three hosts off while reduce tasks read; returns who did not stay. Blocks of the others are late over
     * Netty, and in shared memory they are not.
     */
    private static Set<String> removedByACut(KindCluster cluster, ExecutorHosts hosts, long millis) throws Exception {
        Watched watched = cluster.watch();
        TaskRecorder tasks = watched.tasks();
        FaultTrigger fault =
                FaultTrigger.at(cluster.spark().context(), Place.REDUCE_TASK_STARTS, 2, () -> hosts.cutOff(millis, 1));
        assertThat(GroupedBytes.sums(watched.prepare(JOB))).isEqualTo(EXPECTED);
        fault.awaitEnd();
        if (tasks.removed().isEmpty()) {
            assertThat(tasks.mapTasks()).isEqualTo(JOB.maps());
        }
        Set<String> removed = tasks.removed();
        assertThat(GroupedBytes.sums(watched.prepare(JOB))).isEqualTo(EXPECTED);
        watched.assertReadSoAndAllComesBack();
        return removed;
    }

    /**
     * For less than the heartbeat limit, which costs no output; then for more, so that the driver gives up an executor
     * that lives, and reads, and whose memory others may still have open.
     */
    @ParameterizedTest
    @ShuffleKinds({ShuffleKind.IN_PLACE, ShuffleKind.OVER_NETTY, ShuffleKind.OVER_TCP})
    void cutOffForLessAndForMoreThanTheHeartbeatLimit(ShuffleKind kind) throws Exception {
        try (ExecutorHosts hosts = ExecutorHosts.make(HOSTS);
                KindCluster cluster = KindCluster.start(kind, HOSTS, local, hosts.conf(conf(LIMIT_SECONDS)))) {
            assertThat(removedByACut(cluster, hosts, SHORT_MILLIS)).isEmpty();
            assertThat(removedByACut(cluster, hosts, LONG_MILLIS)).isNotEmpty();
        }
    }
}
