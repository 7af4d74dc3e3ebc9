// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Invariants I1 to I4 on a local cluster: whatever path the bytes take, results equal sort shuffle's, every byte is on
 * the path that the configuration says, nothing is held once shuffles are gone, and no file stays.
 */
@Tag("system")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class PathsIT {
    private static final Path LIBFABRIC = Path.of(
            "/usr/lib/" + System.getProperty("os.arch").replace("amd64", "x86_64") + "-linux-gnu/libfabric.so.1");

    private static final long MIB = 1 << 20;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private void runJobs(int executors, ShuffleMode fabric, Map<String, String> more, Consumer<ClusterStatistics> check)
            throws Exception {
        Map<String, List<String>> expected = ShuffleJobs.expected();
        Map<String, String> conf = new HashMap<>(ShuffleJobs.settings());
        conf.put("spark.shuffle.rdma.pool.directory", pools.path().toString());
        conf.putAll(more);
        try (SparkCluster cluster = SparkCluster.start(executors, fabric, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());

            assertThat(ShuffleJobs.runAll(cluster.spark())).isEqualTo(expected);

            ClusterStatistics after = observer.statistics();
            assertThat(after.byExecutor()).hasSize(executors);
            assertThat(ShuffleObserver.bytesReadByUs(after)).isEqualTo(observer.bytesReadBySpark());
            check.accept(after);

            observer.assertAllComesBack();
        }
    }

    private static void assertOnly(ClusterStatistics statistics, ShuffleCounter remotePath) {
        for (ShuffleCounter path : List.of(
                ShuffleCounter.SHM_BYTES,
                ShuffleCounter.VERBS_BYTES,
                ShuffleCounter.TCP_BYTES,
                ShuffleCounter.NETTY_BYTES,
                ShuffleCounter.FILE_BYTES)) {
            if (path == remotePath) {
                assertThat(statistics.total(path)).as(path.label()).isPositive();
            } else {
                assertThat(statistics.total(path)).as(path.label()).isZero();
            }
        }
        assertThat(statistics.total(ShuffleCounter.LOCAL_BYTES)).isPositive();
    }

    @Test
    void sharedMemoryCarriesEveryRemoteByte() throws Exception {
        runJobs(2, ShuffleMode.AUTO, Map.of(SparkCluster.JAVA_OPTIONS, ""), statistics -> {
            assertOnly(statistics, ShuffleCounter.SHM_BYTES);
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isZero();
        });
    }

    @Test
    void copiesInsteadOfMappingsWithThreeExecutorsAndKryo() throws Exception {
        Map<String, String> conf = Map.of(
                SparkCluster.JAVA_OPTIONS,
                "",
                "spark.shuffle.rdma.fabric.shm.inPlace",
                "false",
                "spark.serializer",
                "org.apache.spark.serializer.KryoSerializer",
                "spark.io.compression.codec",
                "zstd");
        runJobs(3, ShuffleMode.SHM, conf, statistics -> {
            assertOnly(statistics, ShuffleCounter.SHM_BYTES);
            assertThat(statistics.total(ShuffleCounter.FETCH_BATCHES)).isPositive();
        });
    }

    @Test
    void tcpCarriesEveryRemoteByte() throws Exception {
        Map<String, String> conf = Map.of(
                "spark.authenticate", "true",
                "spark.authenticate.secret", "for this test");
        runJobs(3, ShuffleMode.TCP, conf, statistics -> {
            assertOnly(statistics, ShuffleCounter.TCP_BYTES);
            assertThat(statistics.total(ShuffleCounter.FETCH_BATCHES)).isPositive();
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isZero();
        });
    }

    /** Over a provider that needs no device; without the library the job runs over Netty. */
    @Test
    @Tag("nightly")
    @Tag("ofi")
    void libfabricCarriesEveryRemoteByte() throws Exception {
        assumeTrue(Files.exists(LIBFABRIC) || System.getenv("REQUIRE_OFI") != null, "libfabric is not installed");
        Map<String, String> conf = Map.of("spark.shuffle.rdma.fabric.ofi.provider", "tcp;ofi_rxm");
        runJobs(3, ShuffleMode.OFI, conf, statistics -> {
            assertOnly(statistics, ShuffleCounter.VERBS_BYTES);
            assertThat(statistics.total(ShuffleCounter.FETCH_BATCHES)).isPositive();
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isZero();
        });
    }

    @Test
    @Tag("nightly")
    void libfabricAuthenticatesNoReader() throws Exception {
        Map<String, String> conf = Map.of(
                "spark.authenticate", "true",
                "spark.authenticate.secret", "for this test",
                "spark.shuffle.rdma.fabric.ofi.provider", "tcp;ofi_rxm");
        runJobs(2, ShuffleMode.OFI, conf, statistics -> assertOnly(statistics, ShuffleCounter.NETTY_BYTES));
    }

    @Test
    @Tag("nightly")
    void tcpServesTheDiskTier() throws Exception {
        runJobs(2, ShuffleMode.TCP, Map.of("spark.shuffle.rdma.pool.maxSize", "8m"), statistics -> {
            assertOnly(statistics, ShuffleCounter.TCP_BYTES);
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_ON_DISK)).isPositive();
        });
    }

    @Test
    @Tag("nightly")
    void encryptedRpcKeepsPlainBytesOffTcp() throws Exception {
        Map<String, String> conf = Map.of(
                "spark.authenticate", "true",
                "spark.authenticate.secret", "for this test",
                "spark.network.crypto.enabled", "true");
        runJobs(2, ShuffleMode.TCP, conf, statistics -> assertOnly(statistics, ShuffleCounter.NETTY_BYTES));
    }

    @Test
    @Tag("nightly")
    void nettyServesPoolBlocks() throws Exception {
        runJobs(2, ShuffleMode.NETTY, Map.of(), statistics -> {
            assertOnly(statistics, ShuffleCounter.NETTY_BYTES);
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isPositive();
        });
    }

    @Test
    void encryptedAndAuthenticated() throws Exception {
        Map<String, String> conf = Map.of(
                "spark.io.encryption.enabled", "true",
                "spark.authenticate", "true",
                "spark.authenticate.secret", "for this test",
                "spark.network.crypto.enabled", "true",
                "spark.shuffle.compress", "false");
        runJobs(2, ShuffleMode.AUTO, conf, statistics -> assertOnly(statistics, ShuffleCounter.SHM_BYTES));
    }

    @Test
    void fullPoolBecomesFilesAndStaysUnderItsCap() throws Exception {
        Map<String, String> conf =
                Map.of("spark.shuffle.rdma.pool.maxSize", "8m", "spark.shuffle.rdma.disk.enabled", "false");
        runJobs(2, ShuffleMode.AUTO, conf, statistics -> {
            assertThat(statistics.total(ShuffleCounter.FILE_BYTES)).isPositive();
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isPositive();
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isPositive();
            assertThat(statistics.total(ShuffleCounter.NETTY_BYTES)).isZero();
            assertThatNoPoolOutgrewItsCap(statistics);
        });
    }

    @Test
    void peersReadSpilledOutputsInTheDiskTier() throws Exception {
        runJobsOnDisk(true);
    }

    @Test
    @Tag("nightly")
    void spilledOutputsAreCopiedFromTheDiskTier() throws Exception {
        runJobsOnDisk(false);
    }

    private void runJobsOnDisk(boolean inPlace) throws Exception {
        Map<String, String> conf = Map.of(
                "spark.shuffle.rdma.pool.maxSize",
                "8m",
                "spark.shuffle.rdma.fabric.shm.inPlace",
                Boolean.toString(inPlace));
        runJobs(2, ShuffleMode.AUTO, conf, statistics -> {
            assertOnly(statistics, ShuffleCounter.SHM_BYTES);
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isZero();
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_ON_DISK)).isPositive();
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_POOLED))
                    .isGreaterThan(statistics.total(ShuffleCounter.MAP_OUTPUTS_ON_DISK));
            assertThatNoPoolOutgrewItsCap(statistics);
        });
    }

    @Test
    void nettyServesTheDiskTier() throws Exception {
        runJobs(2, ShuffleMode.NETTY, Map.of("spark.shuffle.rdma.pool.maxSize", "8m"), statistics -> {
            assertOnly(statistics, ShuffleCounter.NETTY_BYTES);
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_ON_DISK)).isPositive();
        });
    }

    @Test
    @Tag("nightly")
    void theDiskTierHoldsEncryptedBlocks() throws Exception {
        Map<String, String> conf = Map.of(
                "spark.io.encryption.enabled", "true",
                "spark.shuffle.rdma.pool.maxSize", "8m",
                "spark.shuffle.compress", "false");
        runJobs(2, ShuffleMode.AUTO, conf, statistics -> {
            assertOnly(statistics, ShuffleCounter.SHM_BYTES);
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_ON_DISK)).isPositive();
        });
    }

    private static void assertThatNoPoolOutgrewItsCap(ClusterStatistics statistics) {
        statistics
                .byExecutor()
                .forEach((executor, counters) ->
                        assertThat(counters.get(ShuffleCounter.POOL_PEAK_BYTES)).isLessThanOrEqualTo(8 * MIB));
    }

    @Test
    @Tag("nightly")
    void hugeBlocksAreFetchedToDiskOverNetty() throws Exception {
        Map<String, String> conf = Map.of("spark.network.maxRemoteBlockSizeFetchToMem", "1k");
        runJobs(2, ShuffleMode.NETTY, conf, statistics -> assertOnly(statistics, ShuffleCounter.NETTY_BYTES));
    }
}
