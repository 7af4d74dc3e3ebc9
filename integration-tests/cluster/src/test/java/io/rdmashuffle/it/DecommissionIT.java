// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.harness.spark.SparkCalls;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import scala.Tuple2;

/** A decommissioned executor's map outputs are read from their new home, and no map task runs again. */
@Tag("system")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class DecommissionIT {
    private static final int MAPS = 12;
    private static final GroupedBytes JOB = new GroupedBytes(MAPS, 7, 0);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();
    private static final long DEADLINE_SECONDS = 90;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private Map<String, String> conf(String... more) {
        Map<String, String> conf = pools.conf("spark.shuffle.rdma.outlive.enabled", "false");
        conf.putAll(pools.conf(more));
        conf.put("spark.shuffle.compress", "false");
        conf.put("spark.decommission.enabled", "true");
        conf.put("spark.storage.decommission.enabled", "true");
        conf.put("spark.storage.decommission.shuffleBlocks.enabled", "true");
        conf.put("spark.storage.decommission.rddBlocks.enabled", "false");
        conf.put("spark.storage.decommission.replicationReattemptInterval", "1s");
        return conf;
    }

    /** Result of one round: counters of remaining executors, before and after their reads. */
    private record Round(int outputsMoved, ClusterStatistics before, ClusterStatistics after) {
        long read(ShuffleCounter path) {
            return after.total(path) - before.total(path);
        }
    }

    /** Runs a job, sends away the executor with most map outputs, runs the job's reduce stage again. */
    private static Round round(SparkCluster cluster) throws Exception {
        return round(cluster, ShuffleKind.IN_PLACE);
    }

    private static Round round(SparkCluster cluster, ShuffleKind kind) throws Exception {
        ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
        TaskRecorder tasks = new TaskRecorder(cluster.spark().sparkContext());
        JavaPairRDD<Integer, Long> grouped = JOB.prepare(cluster.spark(), kind);
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
        assertThat(tasks.mapTasks()).isEqualTo(MAPS);

        Map<String, Long> outputs = observer.outputsByExecutor();
        String leaver = observer.executorWithMostOutputs();
        cluster.decommission(leaver);
        tasks.awaitRemoval(leaver, DEADLINE_SECONDS);
        assertThat(observer.outputsByExecutor()).doesNotContainKey(leaver);
        cluster.awaitExecutors(outputs.size());

        ClusterStatistics before = observer.statistics();
        assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
        assertThat(tasks.mapTasks())
                .as("map tasks, those of the first run included")
                .isEqualTo(MAPS);
        assertThat(tasks.failures()).isEmpty();
        ClusterStatistics after = observer.statistics();

        observer.assertAllComesBack();
        return new Round(Math.toIntExact(Objects.requireNonNull(outputs.get(leaver))), before, after);
    }

    @ParameterizedTest
    @ShuffleKinds({
        ShuffleKind.IN_PLACE,
        ShuffleKind.COPIED,
        ShuffleKind.OVER_TCP,
        ShuffleKind.ON_DISK,
        ShuffleKind.STREAMS
    })
    void outputsMoveToOtherPoolsAndAreReadThereOneSidedly(ShuffleKind kind) throws Exception {
        try (SparkCluster cluster = SparkCluster.start(3, kind.fabric(), kind.conf(conf()))) {
            Round round = round(cluster, kind);
            kind.assertRead(round.before(), round.after());
            assertThat(round.before().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                    .isEqualTo(round.outputsMoved());
            assertThat(round.read(kind.bytesOfPeers())).isPositive();
            assertThat(round.read(ShuffleCounter.NETTY_BYTES)).isZero();
            assertThat(round.read(ShuffleCounter.FILE_BYTES)).isZero();
        }
    }

    /** Another executor of the host stays, so nothing need be moved. */
    @Test
    void outputsThatOutliveTheirExecutorStayWhereTheyAre() throws Exception {
        Map<String, String> conf = conf("spark.shuffle.rdma.outlive.enabled", "true");
        try (SparkCluster cluster = SparkCluster.start(3, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            JavaPairRDD<Integer, Long> grouped = JOB.prepare(cluster.spark(), ShuffleKind.IN_PLACE);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            Map<String, Long> outputs = observer.outputsByExecutor();
            for (String leaver : List.of("0", "1")) {
                cluster.decommission(leaver);
                tasks.awaitRemoval(leaver, DEADLINE_SECONDS);
                cluster.awaitExecutors(3);
                assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            }
            assertThat(observer.outputsByExecutor()).isEqualTo(outputs);
            assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                    .isZero();
            assertThat(observer.statistics().total(ShuffleCounter.NETTY_BYTES)).isZero();
            assertThat(tasks.failures()).isEmpty();
            assertThat(tasks.mapTasks()).isEqualTo(MAPS);
            observer.assertAllComesBack();
        }
    }

    /** It runs no task that shuffles, so that nothing but the outputs themselves can make it known to the others. */
    @Test
    void anExecutorThatOnlyReceivesOutputsIsReadOneSidedly() throws Exception {
        Map<String, String> conf = conf("spark.locality.wait", "10m", "spark.shuffle.reduceLocality.enabled", "false");
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            List<BlockManagerId> first = Placement.awaitExecutors(2);
            String writer = first.get(0).executorId();
            String receiver = first.get(1).executorId();
            JavaPairRDD<Integer, byte[]> records = Placement.at(cluster, first.get(0), 2)
                    .flatMapToPair(task -> IntStream.range(0, 1_000)
                            .mapToObj(i -> new Tuple2<>(i, new byte[] {1, 2, 3}))
                            .iterator());
            JavaPairRDD<Integer, byte[]> shuffled =
                    GroupedBytes.byKey(cluster.spark(), ShuffleKind.IN_PLACE, records, 4);
            assertThat(observer.outputsByExecutor()).containsOnlyKeys(writer);
            assertThat(observer.statistics().byExecutor()).containsOnlyKeys(writer);

            cluster.decommission(writer);
            tasks.awaitRemoval(writer, DEADLINE_SECONDS);
            ShuffleObserver.await(
                    "the receiver is known",
                    () -> observer.statistics().byExecutor().containsKey(receiver));
            BlockManagerId reader = Placement.awaitExecutors(2).stream()
                    .filter(executor -> !executor.executorId().equals(receiver))
                    .findAny()
                    .orElseThrow();
            List<Integer> counts = shuffled.zipPartitions(Placement.at(cluster, reader, 4), (rows, place) -> {
                        int count = 0;
                        for (; rows.hasNext(); rows.next()) {
                            count++;
                        }
                        return List.of(count).iterator();
                    })
                    .collect();
            assertThat(counts.stream().mapToInt(Integer::intValue).sum()).isEqualTo(2_000);
            assertThat(observer.statistics().total(ShuffleCounter.SHM_BYTES)).isPositive();
            assertThat(observer.statistics().total(ShuffleCounter.NETTY_BYTES)).isZero();
            observer.assertAllComesBack();
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
    @Tag("nightly")
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
    @Tag("nightly")
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
    @Tag("nightly")
    void sparkIsToldWhatIsInThePool() throws Exception {
        try (SparkSession spark = LocalSpark.start(conf())) {
            ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());
            JavaPairRDD<Integer, Long> grouped = JOB.prepare(spark);
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);
            IndexShuffleBlockResolver resolver =
                    (IndexShuffleBlockResolver) SparkEnv.get().shuffleManager().shuffleBlockResolver();
            List<ShuffleBlockInfo> stored = SparkCalls.list(resolver, "getStoredShuffles");
            assertThat(stored).hasSize(MAPS).doesNotHaveDuplicates();
            for (ShuffleBlockInfo output : stored) {
                assertThat(resolver.getMigrationBlocks(output).size()).isEqualTo(2);
                assertThat(SparkCalls.list(resolver, "getBlocksForShuffle", output.shuffleId(), output.mapId()))
                        .hasSize(2);
            }
            assertThat(GroupedBytes.sums(grouped)).isEqualTo(EXPECTED);

            if (SparkCalls.has(IndexShuffleBlockResolver.class, "addShuffleToSkip")) { // since 4.0
                SparkCalls.call(resolver, "addShuffleToSkip", stored.get(0).shuffleId());
                assertThat(SparkCalls.list(resolver, "getStoredShuffles")).isEmpty();
            }
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
