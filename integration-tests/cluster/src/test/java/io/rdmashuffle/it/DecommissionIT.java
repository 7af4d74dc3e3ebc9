// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import scala.jdk.javaapi.CollectionConverters;

/** A decommissioned executor's map outputs are read from their new home, and no map task runs again. */
@Tag("system")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class DecommissionIT {
    private static final int MAPS = 12;
    private static final GroupedBytes JOB = new GroupedBytes(MAPS, 7, 0);
    private static final long DEADLINE_SECONDS = 90;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private Map<String, String> conf(String... more) {
        Map<String, String> conf = pools.conf(more);
        conf.put("spark.shuffle.compress", "false");
        conf.put("spark.decommission.enabled", "true");
        conf.put("spark.storage.decommission.enabled", "true");
        conf.put("spark.storage.decommission.shuffleBlocks.enabled", "true");
        conf.put("spark.storage.decommission.rddBlocks.enabled", "false");
        conf.put("spark.storage.decommission.replicationReattemptInterval", "1s");
        return conf;
    }

    /** What one round showed: the counters of those who stayed, before and after they read. */
    private record Round(int outputsMoved, ClusterStatistics before, ClusterStatistics after) {
        long read(ShuffleCounter path) {
            return after.total(path) - before.total(path);
        }
    }

    /** Runs a job, sends away the executor with most map outputs, runs the job's reduce stage again. */
    private static Round round(SparkCluster cluster) throws Exception {
        ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
        TaskRecorder tasks = new TaskRecorder(cluster.spark().sparkContext());
        JavaPairRDD<Integer, Iterable<GroupedBytes.Row>> grouped = JOB.prepare(cluster.spark());
        Map<Integer, Long> expected = GroupedBytes.sums(grouped);
        assertThat(tasks.mapTasks()).isEqualTo(MAPS);

        Map<String, Long> outputs = observer.outputsByExecutor();
        String leaver = observer.executorWithMostOutputs();
        cluster.decommission(leaver);
        tasks.awaitRemoval(leaver, DEADLINE_SECONDS);
        assertThat(observer.outputsByExecutor()).doesNotContainKey(leaver);
        cluster.awaitExecutors(outputs.size());

        ClusterStatistics before = observer.statistics();
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(expected);
        assertThat(tasks.mapTasks())
                .as("map tasks, those of the first run included")
                .isEqualTo(MAPS);
        assertThat(tasks.failures()).isEmpty();
        ClusterStatistics after = observer.statistics();

        observer.assertAllComesBack();
        return new Round(Math.toIntExact(Objects.requireNonNull(outputs.get(leaver))), before, after);
    }

    @Test
    void outputsMoveToOtherPoolsAndAreReadThereOneSidedly() throws Exception {
        try (SparkCluster cluster = SparkCluster.start(3, ShuffleMode.AUTO, conf())) {
            Round round = round(cluster);
            assertThat(round.before().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                    .isEqualTo(round.outputsMoved());
            assertThat(round.read(ShuffleCounter.SHM_BYTES)).isPositive();
            assertThat(round.read(ShuffleCounter.NETTY_BYTES)).isZero();
            assertThat(round.read(ShuffleCounter.FILE_BYTES)).isZero();
        }
    }

    /** A pool holds five outputs at most, so two hold fewer than the twelve there are, wherever those were written. */
    @Test
    void outputsThatFindNoRoomMoveToFiles() throws Exception {
        Map<String, String> conf = conf(
                "spark.shuffle.rdma.pool.maxSize", "4608k",
                "spark.shuffle.rdma.pool.initialSize", "4608k",
                "spark.shuffle.rdma.pool.chunkSize", "64k",
                "spark.shuffle.rdma.disk.enabled", "false",
                "spark.shuffle.rdma.directory.maxShuffles", "64");
        try (SparkCluster cluster = SparkCluster.start(3, ShuffleMode.AUTO, conf)) {
            Round round = round(cluster);
            assertThat(round.before().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                    .isEqualTo(round.outputsMoved());
            assertThat(round.read(ShuffleCounter.FILE_BYTES)).isPositive();
            assertThat(round.read(ShuffleCounter.SHM_BYTES)).isPositive();
            assertThat(round.read(ShuffleCounter.NETTY_BYTES)).isZero();
        }
    }

    @Test
    void outputsThatFindNoMemoryMoveToTheDiskTier() throws Exception {
        Map<String, String> conf = conf(
                "spark.shuffle.rdma.pool.maxSize", "4608k",
                "spark.shuffle.rdma.pool.initialSize", "4608k",
                "spark.shuffle.rdma.pool.chunkSize", "64k",
                "spark.shuffle.rdma.directory.maxShuffles", "64");
        try (SparkCluster cluster = SparkCluster.start(3, ShuffleMode.AUTO, conf)) {
            Round round = round(cluster);
            assertThat(round.before().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                    .isEqualTo(round.outputsMoved());
            assertThat(round.before().total(ShuffleCounter.DISK_USED_BYTES)).isPositive();
            assertThat(round.read(ShuffleCounter.SHM_BYTES)).isPositive();
            assertThat(round.read(ShuffleCounter.FILE_BYTES)).isZero();
            assertThat(round.read(ShuffleCounter.NETTY_BYTES)).isZero();
        }
    }

    @Test
    void encryptedOutputsMoveAsTheyAreAndAreReadOverNetty() throws Exception {
        Map<String, String> conf = conf(
                "spark.io.encryption.enabled", "true",
                "spark.authenticate", "true",
                "spark.authenticate.secret", "for this test",
                "spark.network.crypto.enabled", "true");
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.NETTY, conf)) {
            Round round = round(cluster);
            assertThat(round.before().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                    .isEqualTo(round.outputsMoved());
            assertThat(round.read(ShuffleCounter.FILE_BYTES)).isZero();
        }
    }

    /** What Spark asks the resolver for when it decommissions, removes and skips shuffles. */
    @Test
    void sparkIsToldWhatIsInThePool() throws Exception {
        try (SparkSession spark = LocalSpark.start(conf())) {
            ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());
            JavaPairRDD<Integer, Iterable<GroupedBytes.Row>> grouped = JOB.prepare(spark);
            Map<Integer, Long> expected = GroupedBytes.sums(grouped);
            IndexShuffleBlockResolver resolver =
                    (IndexShuffleBlockResolver) SparkEnv.get().shuffleManager().shuffleBlockResolver();
            List<ShuffleBlockInfo> stored = CollectionConverters.asJava(resolver.getStoredShuffles());
            assertThat(stored).hasSize(MAPS).doesNotHaveDuplicates();
            for (ShuffleBlockInfo output : stored) {
                assertThat(resolver.getMigrationBlocks(output).size()).isEqualTo(2);
                assertThat(resolver.getBlocksForShuffle(output.shuffleId(), output.mapId())
                                .size())
                        .isEqualTo(2);
            }
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(expected);

            resolver.addShuffleToSkip(stored.get(0).shuffleId());
            assertThat(resolver.getStoredShuffles().isEmpty()).isTrue();
            observer.dropAllShuffles();
            assertThat(resolver.getMigrationBlocks(stored.get(0)).isEmpty()).isTrue();
            assertThat(observer.statistics().total(ShuffleCounter.POOL_LEASES)).isZero();
        }
    }

    /** There is no other executor, so the outputs go to Spark's fallback storage, which knows files only. */
    @Test
    void outputsOfTheLastExecutorMoveToTheFallbackStorage(@TempDir Path fallback) throws Exception {
        Map<String, String> conf = conf(
                "spark.storage.decommission.fallbackStorage.path",
                fallback.toUri().toString());
        try (SparkCluster cluster = SparkCluster.start(1, ShuffleMode.AUTO, conf)) {
            Round round = round(cluster);
            assertThat(round.outputsMoved()).isEqualTo(MAPS);
            assertThat(round.read(ShuffleCounter.LOCAL_BYTES)).isZero();
        }
    }
}
