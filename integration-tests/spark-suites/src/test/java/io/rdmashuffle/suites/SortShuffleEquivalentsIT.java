// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.harness.spark.SparkCalls;
import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.suites.agent.ManagerChoice;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.sort.SerializedShuffleHandle;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import scala.Option;
import scala.Tuple2;

/**
 * What Spark's {@code SortShuffleSuite} and three tests of its {@code ShuffleSuite} say of shuffle files, said of the
 * pool.
 *
 * <p>Runs in the build, and in {@code bin/spark-suites} in place of {@code SortShuffleSuite}.
 */
@Tag("system")
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class SortShuffleEquivalentsIT {
    private static final String MARKER = "a text that nothing else in the pool has";
    private static final int PAIRS = 40;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    /** The fabric that {@code bin/spark-suites} was asked for; any, in the build. */
    private static ShuffleMode fabric() {
        String chosen = System.getProperty(ManagerChoice.PREFIX + "spark.shuffle.rdma.fabric.mode", "auto");
        return ShuffleMode.valueOf(chosen.toUpperCase(Locale.ROOT));
    }

    private JavaSparkContext local(String... more) {
        SparkConf conf = new SparkConf(false)
                .setMaster("local")
                .setAppName("test")
                .set("spark.ui.enabled", "false")
                .set("spark.shuffle.sort.bypassMergeThreshold", "1");
        fabric().conf().forEach(conf::set);
        pools.conf(more).forEach(conf::set);
        return new JavaSparkContext(conf);
    }

    private static JavaPairRDD<Integer, String> pairs(JavaSparkContext context, int maps) {
        return context.parallelize(IntStream.range(0, PAIRS).boxed().toList(), maps)
                .mapToPair(i -> new Tuple2<>(i, MARKER));
    }

    private static ShuffleHandle handle(JavaPairRDD<?, ?> shuffled) {
        return SparkCalls.<ShuffleDependency<?, ?, ?>>list(shuffled.rdd(), "dependencies")
                .get(0)
                .shuffleHandle();
    }

    private static ClusterStatistics statistics() {
        RdmaShuffleManager manager = (RdmaShuffleManager) SparkEnv.get().shuffleManager();
        return manager.statistics(Duration.ofSeconds(20));
    }

    private static List<String> shuffleFiles() {
        return SparkCalls.<File>list(SparkEnv.get().blockManager().diskBlockManager(), "getAllFiles").stream()
                .map(File::getName)
                .filter(name -> name.startsWith("shuffle_"))
                .toList();
    }

    private static void removeShuffle(int shuffleId) {
        SparkEnv.get().blockManager().master().removeShuffle(shuffleId, true);
    }

    private static void assertThePoolIsCleanedUp(JavaPairRDD<?, ?> shuffled) {
        assertThat(shuffled.count()).isEqualTo(PAIRS);
        assertThat(statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(1);
        assertThat(statistics().total(ShuffleCounter.POOL_LEASES)).isPositive();
        assertThat(shuffleFiles()).isEmpty();

        removeShuffle(handle(shuffled).shuffleId());

        assertThat(statistics().total(ShuffleCounter.POOL_LEASES)).isZero();
        assertThat(statistics().total(ShuffleCounter.POOL_USED_BYTES)).isZero();
    }

    @Test
    void poolIsCleanedUpAfterTheDirectPath() {
        try (JavaSparkContext context = local("spark.serializer", "org.apache.spark.serializer.KryoSerializer")) {
            JavaPairRDD<Integer, String> shuffled = pairs(context, 1).partitionBy(new HashPartitioner(4));
            assertThat(handle(shuffled).getClass().getSimpleName()).isEqualTo("DirectShuffleHandle");
            assertThePoolIsCleanedUp(shuffled);
        }
    }

    @Test
    void poolIsCleanedUpAfterTheSerializedPath() {
        String[] streams = {
            "spark.serializer",
            "org.apache.spark.serializer.KryoSerializer",
            "spark.shuffle.rdma.direct.enabled",
            "false"
        };
        try (JavaSparkContext context = local(streams)) {
            JavaPairRDD<Integer, String> shuffled = pairs(context, 1).partitionBy(new HashPartitioner(4));
            assertThat(handle(shuffled)).isInstanceOf(SerializedShuffleHandle.class);
            assertThePoolIsCleanedUp(shuffled);
        }
    }

    @Test
    void poolIsCleanedUpAfterTheDeserializedPath() {
        try (JavaSparkContext context = local("spark.serializer", "org.apache.spark.serializer.JavaSerializer")) {
            JavaPairRDD<Integer, String> shuffled = pairs(context, 1).partitionBy(new HashPartitioner(4));
            assertThat(handle(shuffled).getClass()).isEqualTo(BaseShuffleHandle.class);
            assertThePoolIsCleanedUp(shuffled);
        }
    }

    @Test
    void filesOfOversizedOutputsAreCleanedUp() {
        String[] smallPool = {
            "spark.shuffle.compress", "false",
            "spark.shuffle.rdma.disk.enabled", "false",
            "spark.shuffle.rdma.pool.maxSize", "1m",
            "spark.shuffle.rdma.directory.maxShuffles", "64"
        };
        try (JavaSparkContext context = local(smallPool)) {
            // 40 texts of 64 KiB are more than the pool holds.
            JavaPairRDD<Integer, String> shuffled = pairs(context, 1)
                    .mapToPair(pair -> new Tuple2<>(pair._1(), pair._1() + "x".repeat(1 << 16)))
                    .partitionBy(new HashPartitioner(4));
            assertThat(shuffled.count()).isEqualTo(PAIRS);
            assertThat(statistics().total(ShuffleCounter.MAP_OUTPUTS_FILED)).isEqualTo(1);
            assertThat(shuffleFiles()).contains("shuffle_0_0_0.data", "shuffle_0_0_0.index");

            removeShuffle(handle(shuffled).shuffleId());

            assertThat(shuffleFiles()).isEmpty();
            assertThat(statistics().total(ShuffleCounter.POOL_LEASES)).isZero();
        }
    }

    @Test
    void mapStageRunsAgainWhenItsOutputIsGoneFromThePool() {
        try (JavaSparkContext context = local()) {
            JavaPairRDD<Integer, String> shuffled = pairs(context, 2).partitionBy(new HashPartitioner(3));
            assertThat(shuffled.count()).isEqualTo(PAIRS);
            assertThat(statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(2);

            // Behind the driver's back: its table still says that both map outputs are there.
            SparkEnv.get().shuffleManager().unregisterShuffle(handle(shuffled).shuffleId());
            assertThat(statistics().total(ShuffleCounter.POOL_LEASES)).isZero();

            assertThat(shuffled.count()).isEqualTo(PAIRS);
            assertThat(statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(4);
        }
    }

    @Test
    void outputIsInThePoolOnlyAfterItsStageRan() {
        try (JavaSparkContext context = local()) {
            JavaPairRDD<Integer, String> shuffled = pairs(context, 1).partitionBy(new HashPartitioner(2));
            ShuffleBlockId block = new ShuffleBlockId(handle(shuffled).shuffleId(), 0, 0);
            assertThatThrownBy(() -> blockData(block)).isInstanceOf(IOException.class);

            assertThat(shuffled.count()).isEqualTo(PAIRS);

            assertThat(blockData(block).size()).isPositive();
            assertThat(shuffleFiles()).isEmpty();
        }
    }

    private static ManagedBuffer blockData(ShuffleBlockId block) {
        return SparkEnv.get().shuffleManager().shuffleBlockResolver().getBlockData(block, Option.empty());
    }

    @Test
    void corruptPoolBlockIsDetected() throws IOException {
        try (SparkCluster cluster = clusterWithPlainBlocks("spark.stage.maxConsecutiveAttempts", "1")) {
            JavaPairRDD<Integer, String> shuffled = shuffledAndCorrupted(cluster);

            assertThatThrownBy(shuffled::count)
                    .hasMessageContaining("checksum of")
                    .hasMessageContaining("is wrong");
        }
    }

    @Test
    void corruptPoolBlockIsComputedAgain() throws IOException {
        try (SparkCluster cluster = clusterWithPlainBlocks()) {
            JavaPairRDD<Integer, String> shuffled = shuffledAndCorrupted(cluster);

            assertThat(shuffled.values().filter(MARKER::equals).count()).isEqualTo(PAIRS);
        }
    }

    private SparkCluster clusterWithPlainBlocks(String... more) {
        Map<String, String> conf = pools.conf(more);
        conf.put("spark.shuffle.compress", "false");
        conf.put("spark.shuffle.rdma.pool.initialSize", "16m");
        conf.put("spark.shuffle.rdma.pool.regionSize", "16m");
        return SparkCluster.start(2, fabric(), conf);
    }

    /** Overwrites every marker in the memory of both executors, as a wild write of the device or a bad module would. */
    private JavaPairRDD<Integer, String> shuffledAndCorrupted(SparkCluster cluster) throws IOException {
        JavaSparkContext context =
                JavaSparkContext.fromSparkContext(cluster.spark().sparkContext());
        JavaPairRDD<Integer, String> shuffled = pairs(context, 2).partitionBy(new HashPartitioner(2));
        assertThat(shuffled.count()).isEqualTo(PAIRS);
        assertThat(statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(2);
        int overwritten = 0;
        for (Path region : pools.files()) {
            overwritten += overwriteMarkers(region);
        }
        // A serialised stream writes a text once and refers to it thereafter.
        assertThat(overwritten).isPositive();
        return shuffled;
    }

    private static int overwriteMarkers(Path region) throws IOException {
        byte[] marker = MARKER.getBytes(StandardCharsets.US_ASCII);
        int found = 0;
        try (FileChannel channel = FileChannel.open(region, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer bytes = channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size());
            for (int at = 0; at <= bytes.limit() - marker.length; at++) {
                if (bytes.get(at) == marker[0] && bytes.slice(at, marker.length).equals(ByteBuffer.wrap(marker))) {
                    bytes.put(at, (byte) 'A');
                    found++;
                }
            }
        }
        return found;
    }
}
