// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.faults.FaultTrigger.Place;
import io.rdmashuffle.it.faults.KindCluster.Watched;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.spark.FetchFailed;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Many executors, of which some are gone all at once without a word: connections to them hang. Blocks come over the
 * network, since shared memory of an executor that is cut off is there all the same.
 */
@Tag("system")
@Tag("long")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class BlackHolesIT {
    private static final int HOSTS = 10;
    private static final int[] GONE = {1, 4, 7};
    private static final long GONE_MILLIS = 40_000;
    private static final GroupedBytes JOB = new GroupedBytes(20, 64, 1);

    @TempDir
    Path local;

    @Test
    void noHealthyExecutorIsBlamed() throws Exception {
        ShuffleKind kind = ShuffleKind.OVER_NETTY;
        Map<String, String> conf = NetworkFaultsIT.conf(12);
        conf.put("spark.shuffle.rdma.fetch.timeout", "5s");
        try (ExecutorHosts hosts = ExecutorHosts.make(HOSTS);
                KindCluster cluster = KindCluster.start(kind, HOSTS, local, hosts.conf(conf))) {
            Watched watched = cluster.watch();
            FaultTrigger fault = FaultTrigger.at(
                    cluster.spark().context(), Place.REDUCE_TASK_STARTS, 1, () -> hosts.cutOff(GONE_MILLIS, GONE));
            runTimed("ours over Netty", watched.prepare(JOB));
            Set<Integer> blamed = watched.tasks().failures().stream()
                    .filter(FetchFailed.class::isInstance)
                    .map(FetchFailed.class::cast)
                    .map(failure -> hosts.hostOf(failure.bmAddress().executorId()))
                    .collect(Collectors.toSet());
            assertThat(blamed).isSubsetOf(1, 4, 7);
            fault.awaitEnd();
            watched.assertReadSoAndAllComesBack();
        }
    }

    /** Prints what {@code docs/guarantees.md} compares: the same job and faults with Spark's own shuffle. */
    @Test
    void sortShuffleForComparison() throws Exception {
        Map<String, String> conf = NetworkFaultsIT.conf(12);
        try (ExecutorHosts hosts = ExecutorHosts.make(HOSTS);
                SparkCluster cluster = SparkCluster.start(HOSTS, ShuffleMode.SORT, hosts.conf(conf))) {
            cluster.awaitExecutors(HOSTS);
            FaultTrigger fault = FaultTrigger.at(
                    cluster.context(), Place.REDUCE_TASK_STARTS, 1, () -> hosts.cutOff(GONE_MILLIS, GONE));
            runTimed("sort shuffle", JOB.prepare(cluster.spark(), ShuffleKind.OVER_NETTY));
            fault.awaitEnd();
        }
    }

    private static void runTimed(String shuffle, JavaPairRDD<Integer, Long> prepared) {
        long started = System.nanoTime();
        assertThat(GroupedBytes.sums(prepared)).isEqualTo(JOB.expected());
        System.out.printf(
                "3 of 10 cut off for 40 s, %s: %d s%n", shuffle, (System.nanoTime() - started) / 1_000_000_000);
    }
}
