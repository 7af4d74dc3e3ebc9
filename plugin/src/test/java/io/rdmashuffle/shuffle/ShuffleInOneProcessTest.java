// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/** From records to records through an application of one process, for each way in which records are stored. */
@Tag("unit")
@Timeout(120)
class ShuffleInOneProcessTest {
    private static final int MAPS = 4;
    private static final int PARTITIONS = 5;
    private static final int KEYS = 37;
    private static final String KRYO = "org.apache.spark.serializer.KryoSerializer";

    @TempDir(factory = ShmTempDirs.class)
    Path pools;

    @TempDir
    Path local;

    /** How records are stored. */
    enum Way {
        DIRECT(Map.of("spark.serializer", KRYO)),
        DIRECT_ON_DISK(Map.of(
                "spark.serializer",
                KRYO,
                "spark.shuffle.rdma.pool.regionSize",
                "1m",
                "spark.shuffle.rdma.pool.maxSize",
                "1m",
                "spark.shuffle.rdma.disk.compress",
                "never",
                "spark.shuffle.rdma.directory.maxShuffles",
                "64")),
        DIRECT_IN_FILES(Map.of(
                "spark.serializer",
                KRYO,
                "spark.shuffle.rdma.pool.regionSize",
                "1m",
                "spark.shuffle.rdma.pool.maxSize",
                "1m",
                "spark.shuffle.rdma.disk.enabled",
                "false",
                "spark.shuffle.rdma.directory.maxShuffles",
                "64")),
        STREAMS(Map.of("spark.shuffle.compress", "false")),
        STREAMS_COMPRESSED(Map.of("spark.shuffle.compress", "true")),
        STREAMS_ENCRYPTED(Map.of("spark.io.encryption.enabled", "true"));

        @SuppressWarnings("ImmutableEnumChecker") // all made by Map.of
        private final Map<String, String> conf;

        Way(Map<String, String> conf) {
            this.conf = conf;
        }

        boolean isDirect() {
            return name().startsWith("DIRECT");
        }
    }

    /** Greatest first. */
    private static final class Descending implements Comparator<Integer>, Serializable {
        private static final long serialVersionUID = 1;

        @Override
        public int compare(Integer one, Integer other) {
            return other.compareTo(one);
        }
    }

    private static List<Tuple2<Integer, byte[]>> records(int count, int bytes) {
        Random random = new Random(3);
        List<Tuple2<Integer, byte[]>> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] value = new byte[bytes];
            random.nextBytes(value);
            records.add(new Tuple2<>(i % KEYS, value));
        }
        return records;
    }

    private static long sum(byte[] value) {
        long sum = 1;
        for (byte each : value) {
            sum = 31 * sum + each;
        }
        return sum;
    }

    private static Map<Integer, Long> sums(List<Tuple2<Integer, byte[]>> records) {
        Map<Integer, Long> sums = new TreeMap<>();
        records.forEach(record -> sums.merge(record._1(), sum(record._2()), Long::sum));
        return sums;
    }

    @ParameterizedTest
    @EnumSource
    void eachValueComesToItsKeyOnce(Way way) throws Exception {
        List<Tuple2<Integer, byte[]>> records = records(2_000, 1_000);
        try (LocalApplication application = LocalApplication.start(pools, local, way.conf)) {
            JavaPairRDD<Integer, Long> grouped = application
                    .context()
                    .parallelize(records, MAPS)
                    .mapToPair(record -> record)
                    .groupByKey(PARTITIONS)
                    .mapValues(values -> {
                        long sum = 0;
                        for (byte[] value : values) {
                            sum += sum(value);
                        }
                        return sum;
                    });
            assertThat(new TreeMap<>(grouped.collectAsMap())).isEqualTo(sums(records));

            LocalApplication.Metrics metrics = application.metrics();
            assertThat(metrics.recordsWritten()).isEqualTo(records.size());
            assertThat(metrics.recordsRead()).isEqualTo(records.size());
            assertThat(metrics.bytesWritten()).isGreaterThan(2_000_000);
            assertThat(metrics.bytesRead()).isEqualTo(metrics.bytesWritten());
            assertStoredIn(way, application, metrics.bytesWritten());
            assertThat(grouped.count()).as("the map stage is not run again").isEqualTo(KEYS);
            assertThat(application.metrics().recordsWritten()).isEqualTo(records.size());
            application.dropAllShuffles();
            assertThat(application.counted(ShuffleCounter.POOL_USED_BYTES)).isZero();
        }
    }

    /** Outputs longer than a region lay on disk whole, however empty the pool was. */
    @Test
    void outputsLongerThanARegionStayInMemory() {
        List<Tuple2<Integer, byte[]>> records = records(8_000, 1_000);
        Map<String, String> conf = Map.of(
                "spark.serializer",
                KRYO,
                "spark.shuffle.rdma.pool.regionSize",
                "1m",
                "spark.shuffle.rdma.pool.maxSize",
                "32m");
        try (LocalApplication application = LocalApplication.start(pools, local, conf)) {
            Map<Integer, Long> sums = application
                    .context()
                    .parallelize(records, 2)
                    .mapToPair(record -> record)
                    .partitionBy(new HashPartitioner(PARTITIONS))
                    .mapValues(ShuffleInOneProcessTest::sum)
                    .reduceByKey(Long::sum)
                    .collectAsMap();
            assertThat(new TreeMap<>(sums)).isEqualTo(sums(records));
            assertThat(application.counted(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(2);
            assertThat(application.counted(ShuffleCounter.MAP_OUTPUTS_ON_DISK)).isZero();
            assertThat(application.counted(ShuffleCounter.POOL_PEAK_BYTES)).isGreaterThan(8_000_000);
        }
    }

    /** Partitioner with an id too many. */
    private static final class OutOfRange extends Partitioner {
        private static final long serialVersionUID = 1;

        @Override
        public int numPartitions() {
            return PARTITIONS;
        }

        @Override
        public int getPartition(Object key) {
            return PARTITIONS;
        }
    }

    @Test
    void namesAPartitionerWhoseIdsAreOutOfRange() {
        try (LocalApplication application = LocalApplication.start(pools, local, Way.DIRECT.conf)) {
            assertThatThrownBy(() -> application
                            .context()
                            .parallelize(records(10, 10), 1)
                            .mapToPair(record -> record)
                            .partitionBy(new OutOfRange())
                            .count())
                    .hasMessageContaining(OutOfRange.class.getName() + ".getPartition returned " + PARTITIONS)
                    .hasMessageContaining("numPartitions");
        }
    }

    /** The pool takes nothing of a map output whose records were spilled, and files take all of it. */
    @ParameterizedTest
    @ValueSource(ints = {1, PARTITIONS})
    void refusedSpillsReachTheirKeysOnce(int partitions) throws Exception {
        List<Tuple2<Integer, byte[]>> records = records(12_000, 1_000);
        Map<String, String> conf = new HashMap<>(Way.DIRECT_IN_FILES.conf);
        conf.put("spark.shuffle.compress", "false");
        conf.put("spark.testing.reservedMemory", "1000000");
        conf.put("spark.testing.memory", "4000000");
        try (LocalApplication application = LocalApplication.start(pools, local, conf)) {
            List<Tuple2<Integer, Long>> sums = application
                    .context()
                    .parallelize(records, 1)
                    .mapToPair(record -> record)
                    .partitionBy(new HashPartitioner(partitions))
                    .mapValues(ShuffleInOneProcessTest::sum)
                    .collect();
            assertThat(sums).hasSize(records.size());
            Map<Integer, Long> byKey = new TreeMap<>();
            sums.forEach(sum -> byKey.merge(sum._1(), sum._2(), Long::sum));
            assertThat(byKey).isEqualTo(sums(records));
            assertThat(application.metrics().bytesSpilled()).isPositive();
            assertThat(application.counted(ShuffleCounter.MAP_OUTPUTS_FILED)).isOne();
        }
    }

    private static void assertStoredIn(Way way, LocalApplication application, long bytes) {
        boolean files = way == Way.DIRECT_IN_FILES;
        boolean disk = way == Way.DIRECT_ON_DISK;
        assertThat(application.counted(ShuffleCounter.FILE_BYTES) > 0).isEqualTo(files);
        assertThat(application.counted(ShuffleCounter.MAP_OUTPUTS_FILED) > 0).isEqualTo(files);
        assertThat(application.counted(ShuffleCounter.MAP_OUTPUTS_ON_DISK) > 0).isEqualTo(disk);
        assertThat(application.counted(ShuffleCounter.DISK_READ_BYTES) > 0).isEqualTo(disk);
        assertThat(application.counted(ShuffleCounter.DIRECT_BYTES) > 0).isEqualTo(way.isDirect());
        assertThat(application.counted(ShuffleCounter.LOCAL_BYTES) + application.counted(ShuffleCounter.FILE_BYTES))
                .isEqualTo(bytes);
        assertThat(application.counted(ShuffleCounter.MAP_OUTPUTS_POOLED)
                        + application.counted(ShuffleCounter.MAP_OUTPUTS_FILED))
                .isEqualTo(MAPS);
    }

    @ParameterizedTest
    @CsvSource({"DIRECT, 1000", "STREAMS, 1000", "DIRECT, 10", "STREAMS, 10"})
    void partitionsAreSortedWhereTheShuffleAsksForIt(Way way, int recordsInMemory) {
        List<Tuple2<Integer, byte[]>> records = records(500, 10);
        Map<String, String> conf = new HashMap<>(way.conf);
        conf.put("spark.shuffle.spill.numElementsForceSpillThreshold", Integer.toString(recordsInMemory));
        try (LocalApplication application = LocalApplication.start(pools, local, conf)) {
            List<List<Integer>> partitions = application
                    .context()
                    .parallelize(records, MAPS)
                    .mapToPair(record -> record)
                    .repartitionAndSortWithinPartitions(new HashPartitioner(PARTITIONS), new Descending())
                    .keys()
                    .glom()
                    .collect();
            assertThat(partitions).hasSize(PARTITIONS);
            for (int p = 0; p < PARTITIONS; p++) {
                int partition = p;
                assertThat(partitions.get(p))
                        .isSortedAccordingTo(new Descending())
                        .allMatch(key -> key % PARTITIONS == partition);
            }
            assertThat(partitions.stream().mapToInt(List::size).sum()).isEqualTo(records.size());
        }
    }

    @ParameterizedTest
    @EnumSource
    void valuesAreCombinedBeforeTheyAreWritten(Way way) {
        List<Tuple2<Integer, byte[]>> records = records(5_000, 500);
        Map<Integer, String> expected = new HashMap<>();
        records.forEach(record -> expected.merge(record._1(), letters(record._2()), (a, b) -> ordered(a + b)));
        Map<String, String> conf = new HashMap<>(way.conf);
        // Combiners go to disk many times, and are merged from there.
        conf.put("spark.shuffle.spill.numElementsForceSpillThreshold", "10");
        try (LocalApplication application = LocalApplication.start(pools, local, conf)) {
            JavaPairRDD<Integer, String> combined = application
                    .context()
                    .parallelize(records, MAPS)
                    .mapToPair(record -> record)
                    .mapValues(ShuffleInOneProcessTest::letters)
                    .reduceByKey((a, b) -> ordered(a + b), PARTITIONS);
            ShuffleDependency<?, ?, ?> dependency =
                    (ShuffleDependency<?, ?, ?>) combined.rdd().dependencies().apply(0);
            assertThat(dependency.mapSideCombine()).isTrue();
            assertThat(dependency.shuffleHandle() instanceof DirectShuffleHandle)
                    .isEqualTo(way.isDirect());
            assertThat(combined.collectAsMap()).isEqualTo(expected);
        }
    }

    /** Adaptive execution plans by them, with limits that are meant for compressed bytes. */
    @ParameterizedTest
    @EnumSource(names = {"DIRECT", "DIRECT_ON_DISK"})
    void sparkIsToldOfSizesAsIfBlocksWereCompressed(Way way) {
        try (LocalApplication application = LocalApplication.start(pools, local, way.conf)) {
            List<Tuple2<Integer, byte[]>> random = records(2_000, 200);
            List<Tuple2<Integer, byte[]>> zeros = random.stream()
                    .map(record -> new Tuple2<>(record._1(), new byte[200]))
                    .toList();
            long bytes = 2_000 * 200;
            assertThat(reportedBytes(application, random)).isBetween(bytes * 9 / 10, bytes * 12 / 10);
            assertThat(reportedBytes(application, zeros)).isBetween(1L, bytes / 5);
        }
    }

    private static long reportedBytes(LocalApplication application, List<Tuple2<Integer, byte[]>> records) {
        JavaPairRDD<Integer, byte[]> partitioned = application
                .context()
                .parallelize(records, MAPS)
                .mapToPair(record -> record)
                .partitionBy(new HashPartitioner(PARTITIONS));
        assertThat(partitioned.count()).isEqualTo(records.size());
        ShuffleDependency<?, ?, ?> dependency =
                (ShuffleDependency<?, ?, ?>) partitioned.rdd().dependencies().apply(0);
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        return LongStream.of(tracker.getStatistics(dependency).bytesByPartitionId())
                .sum();
    }

    private static String letters(byte[] value) {
        return Integer.toString(Arrays.hashCode(value) & 0xff, 36);
    }

    /** Whatever the order in which values were combined, the same. */
    private static String ordered(String text) {
        char[] characters = text.toCharArray();
        Arrays.sort(characters);
        return new String(characters);
    }

    @ParameterizedTest
    @EnumSource(names = {"DIRECT", "STREAMS"})
    void valuesAreCombinedWhereTheShuffleAsksForIt(Way way) {
        List<Tuple2<Integer, byte[]>> records = records(500, 10);
        Map<Integer, Long> counts = new HashMap<>();
        records.forEach(record -> counts.merge(record._1(), 1L, Long::sum));
        try (LocalApplication application = LocalApplication.start(pools, local, way.conf)) {
            JavaPairRDD<Integer, byte[]> pairs =
                    application.context().parallelize(records, MAPS).mapToPair(record -> record);
            assertThat(pairs.mapValues(value -> 1L)
                            .reduceByKey(Long::sum, PARTITIONS)
                            .collectAsMap())
                    .as("combined before and after")
                    .isEqualTo(counts);
            assertThat(pairs.combineByKey(
                                    value -> 1L,
                                    (count, value) -> count + 1,
                                    Long::sum,
                                    new HashPartitioner(PARTITIONS),
                                    false,
                                    null)
                            .collectAsMap())
                    .as("combined afterwards")
                    .isEqualTo(counts);
        }
    }
}
