// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.harness.spark.SparkCalls;
import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Function1;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;

/** Promises of Spark's shuffle that are about more than one path: codecs, serialisers, sizes, stages and contexts. */
@Tag("system")
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class SemanticsIT {
    private static final String CHECKSUM_SINCE_4_1 = "checksumValue";
    private static final int KEYS = 500;
    private static final int ROWS = 20_000;
    private static final int MAPS = 4;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private static JavaPairRDD<Integer, String> pairs(SparkSession spark) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        List<Integer> seeds = IntStream.range(0, MAPS).boxed().toList();
        return context.parallelize(seeds, MAPS)
                .flatMapToPair(seed -> IntStream.range(0, ROWS / MAPS)
                        .map(i -> i * MAPS + seed)
                        .mapToObj(i -> new Tuple2<>(i % KEYS, "value " + i))
                        .iterator());
    }

    /** Every key has 40 values; their lengths add up to this. */
    private static long charactersOf(int key) {
        return IntStream.range(0, ROWS)
                .filter(i -> i % KEYS == key)
                .mapToLong(i -> ("value " + i).length())
                .sum();
    }

    private static void assertGroups(JavaPairRDD<Integer, Iterable<String>> grouped) {
        Map<Integer, Long> characters = grouped.mapValues(values -> {
                    long sum = 0;
                    for (String value : values) {
                        sum += value.length();
                    }
                    return sum;
                })
                .collectAsMap();
        assertThat(characters).hasSize(KEYS);
        characters.forEach((key, sum) -> assertThat(sum).isEqualTo(charactersOf(key)));
    }

    @ParameterizedTest
    @CsvSource({
        "lz4, JavaSerializer, false",
        "lzf, KryoSerializer, false",
        "snappy, JavaSerializer, true",
        "zstd, KryoSerializer, true"
    })
    void codecsAndSerialisersWithAndWithoutEncryption(String codec, String serializer, String encrypted)
            throws Exception {
        Map<String, String> conf = pools.conf(
                "spark.shuffle.compress",
                "true",
                "spark.io.compression.codec",
                codec,
                "spark.serializer",
                "org.apache.spark.serializer." + serializer,
                "spark.io.encryption.enabled",
                encrypted);
        try (SparkSession spark = LocalSpark.start(conf)) {
            ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());
            assertGroups(pairs(spark).groupByKey(5));
            assertThat(pairs(spark).sortByKey(true, 3).keys().collect())
                    .isSorted()
                    .hasSize(ROWS);
            List<Row> counts = spark.range(0, 10_000, 1, MAPS)
                    .groupBy(functions.col("id").mod(10).as("key"))
                    .count()
                    .collectAsList();
            assertThat(counts).hasSize(10).allMatch(row -> row.getLong(1) == 1_000);
            assertThat(observer.statistics().total(ShuffleCounter.FILE_BYTES)).isZero();
            assertThat(observer.statistics().total(ShuffleCounter.LOCAL_BYTES)).isPositive();
            observer.assertAllComesBack();
        }
    }

    /** Spark stops the manager when the context stops; it may have been stopped before. */
    @Test
    void stoppingTwiceLeavesTheNextContextUnaffected() throws Exception {
        for (int round = 0; round < 3; round++) {
            try (SparkSession spark = LocalSpark.start(pools.conf())) {
                assertGroups(pairs(spark).groupByKey(5));
                SparkEnv.get().shuffleManager().stop();
                SparkEnv.get().shuffleManager().stop();
                assertThat(pools.files()).isEmpty();
            }
        }
    }

    /** One cluster that copies small blocks and fetches others to disk; each job compares its own result. */
    @Test
    void sizesAndStagesOnACluster() throws Exception {
        Map<String, String> conf = pools.conf(
                "spark.shuffle.rdma.fabric.shm.inPlace", "false",
                "spark.shuffle.compress", "false",
                "spark.network.maxRemoteBlockSizeFetchToMem", "20k");
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.SHM, conf)) {
            SparkSession spark = cluster.spark();
            ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());

            // An executor that has registered may not be offered tasks yet, and one executor alone reads no peer.
            ShuffleObserver.await("executors read from one another", () -> {
                moreThanTwoThousandPartitionsMostOfThemEmpty(spark);
                return observer.statistics().total(ShuffleCounter.SHM_BYTES) > 0;
            });
            assertThat(observer.statistics().total(ShuffleCounter.NETTY_BYTES)).isZero();

            blocksLargerThanMemoryMayHold(spark);
            assertThat(observer.statistics().total(ShuffleCounter.NETTY_BYTES)).isPositive();

            barrierStageReadsAShuffle(spark);
            if (SparkCalls.has(MapStatus.class, CHECKSUM_SINCE_4_1)) {
                rowsAreSummedInWhateverOrder(spark);
            }

            ClusterStatistics after = observer.statistics();
            assertThat(after.total(ShuffleCounter.FILE_BYTES)).isZero();
            assertThat(ShuffleObserver.bytesReadByUs(after)).isEqualTo(observer.bytesReadBySpark());
            observer.assertAllComesBack();
        }
    }

    /** Above 2000 partitions Spark keeps an average size, and a bitmap of empty blocks. */
    private static void moreThanTwoThousandPartitionsMostOfThemEmpty(SparkSession spark) {
        assertGroups(pairs(spark).groupByKey(2_003).coalesce(6).mapToPair(pair -> pair));
    }

    /** Three partitions, since of two each map would feed one only, and Spark would put the reducer beside it. */
    private static void blocksLargerThanMemoryMayHold(SparkSession spark) {
        assertGroups(pairs(spark).groupByKey(3));
    }

    private static void barrierStageReadsAShuffle(SparkSession spark) {
        RDD<Integer> keys = JavaRDD.toRDD(pairs(spark).groupByKey(2).map(pair -> pair._1()));
        Function1<Iterator<Integer>, Iterator<Integer>> together =
                (Function1<Iterator<Integer>, Iterator<Integer>> & Serializable) partition -> {
                    BarrierTaskContext.get().barrier();
                    return partition;
                };
        RDD<Integer> through = keys.barrier().mapPartitions(together, false, ClassTag$.MODULE$.apply(Integer.class));
        assertThat(JavaRDD.fromRDD(through, ClassTag$.MODULE$.apply(Integer.class))
                        .collect())
                .hasSize(KEYS)
                .doesNotHaveDuplicates();
    }

    /**
     * Checksums of rows that do not depend on their order tell Spark whether a task that ran again wrote something
     * else.
     */
    private static void rowsAreSummedInWhateverOrder(SparkSession spark) {
        spark.conf().set("spark.sql.shuffle.orderIndependentChecksum.enabled", "true");
        List<Long> ascending = rowChecksums(spark, 1);
        List<Long> descending = rowChecksums(spark, -1);
        assertThat(ascending).hasSize(MAPS).doesNotContain(0L).doesNotHaveDuplicates();
        assertThat(descending).containsExactlyElementsOf(ascending);
        // Spark 4.2 computes them for either key.
        for (String key : List.of("enabled", "enableFullRetryOnMismatch")) {
            spark.conf().set("spark.sql.shuffle.orderIndependentChecksum." + key, "false");
        }
        assertThat(rowChecksums(spark, 1)).containsOnly(0L);
    }

    private static List<Long> rowChecksums(SparkSession spark, int direction) {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        List<Object> before =
                new ArrayList<>(ScalaCollections.list(tracker.shuffleStatuses().keysIterator()));
        int perMap = 1_000;
        List<Long> ids = IntStream.range(0, MAPS * perMap)
                .mapToObj(i -> direction > 0 ? (long) i : i / perMap * perMap + perMap - 1L - i % perMap)
                .toList();
        RDD<Long> rows = JavaSparkContext.fromSparkContext(spark.sparkContext())
                .parallelize(ids, MAPS)
                .rdd();
        assertThat(spark.createDataset(rows, Encoders.LONG())
                        .repartition(5, functions.col("value"))
                        .collectAsList())
                .containsExactlyInAnyOrderElementsOf(ids);
        return ScalaCollections.list(tracker.shuffleStatuses().iterator()).stream()
                .filter(shuffle -> !before.contains(shuffle._1()))
                .flatMap(shuffle -> List.of(shuffle._2().mapStatuses()).stream())
                .map(status -> (Long) SparkCalls.call(status, CHECKSUM_SINCE_4_1))
                .toList();
    }
}
