// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;

/**
 * Job that groups records of random bytes by key and sums them as they are read; a map output has about 800 KB. The
 * expected result is known without a shuffle.
 *
 * @param maps map tasks
 * @param reduces reduce tasks
 * @param readMillis how long a reduce task takes for each record, so that something can happen meanwhile; there are 200
 *     records a map task
 * @param series jobs of different series have different bytes
 */
public record GroupedBytes(int maps, int reduces, int readMillis, int series) {
    private static final int KEYS = 50;
    private static final int RECORDS = 200;
    private static final int RECORD_BYTES = 4_000;
    private static final StructType TYPE =
            new StructType().add("key", DataTypes.IntegerType, false).add("bytes", DataTypes.BinaryType, false);

    /** Makes a job of series 0. */
    public GroupedBytes(int maps, int reduces, int readMillis) {
        this(maps, reduces, readMillis, 0);
    }

    /** Returns the same job with bytes that no other series has, to be told from what earlier jobs left behind. */
    public GroupedBytes ofSeries(int other) {
        return new GroupedBytes(maps, reduces, readMillis, other);
    }

    /** Prepares the job with users' defaults, on uncompressed rows. */
    public JavaPairRDD<Integer, Long> prepare(SparkSession spark) {
        return prepare(spark, ShuffleKind.IN_PLACE);
    }

    /**
     * Prepares the job, so that a second action on it reads the map outputs of the first. That of rows runs its map
     * stage here.
     */
    public JavaPairRDD<Integer, Long> prepare(SparkSession spark, ShuffleKind kind) {
        int millis = readMillis;
        return records(spark, kind).mapPartitionsToPair(read -> sums(read, millis));
    }

    /** Prepares the shuffle alone. */
    public JavaPairRDD<Integer, byte[]> records(SparkSession spark, ShuffleKind kind) {
        List<Long> seeds = IntStream.range(0, maps).mapToObj(this::seed).toList();
        JavaPairRDD<Integer, byte[]> records = JavaSparkContext.fromSparkContext(spark.sparkContext())
                .parallelize(seeds, maps)
                .flatMapToPair(GroupedBytes::recordsOf);
        return byKey(spark, kind, records, reduces);
    }

    /** Shuffles records as a kind has it. Those of rows are shuffled by their key's hash; it runs the map stage. */
    public static JavaPairRDD<Integer, byte[]> byKey(
            SparkSession spark, ShuffleKind kind, JavaPairRDD<Integer, byte[]> records, int reduces) {
        if (!kind.isOfRows()) {
            return records.partitionBy(new HashPartitioner(reduces));
        }
        return spark.createDataFrame(records.map(record -> RowFactory.create(record._1(), record._2())), TYPE)
                .repartition(reduces, functions.col("key"))
                .javaRDD()
                .mapToPair(row -> new Tuple2<>(row.getInt(0), (byte[]) row.get(1)));
    }

    /** Returns the bytes of the first record of a map task, for tests that look for them where they are stored. */
    public byte[] firstRecord(int map) {
        return recordsOf(seed(map)).next()._2();
    }

    private long seed(int map) {
        return ((long) series << Integer.SIZE) + map;
    }

    private static Iterator<Tuple2<Integer, byte[]>> recordsOf(long seed) {
        Random random = new Random(seed);
        return IntStream.range(0, RECORDS)
                .mapToObj(record -> {
                    byte[] bytes = new byte[RECORD_BYTES];
                    random.nextBytes(bytes);
                    return new Tuple2<>(record % KEYS, bytes);
                })
                .iterator();
    }

    private static Iterator<Tuple2<Integer, Long>> sums(Iterator<Tuple2<Integer, byte[]>> read, int millis)
            throws InterruptedException {
        Map<Integer, Long> sums = new HashMap<>();
        while (read.hasNext()) {
            Tuple2<Integer, byte[]> record = read.next();
            add(sums, record);
            Thread.sleep(millis);
        }
        return sums.entrySet().stream()
                .map(entry -> new Tuple2<>(entry.getKey(), entry.getValue()))
                .iterator();
    }

    private static void add(Map<Integer, Long> sums, Tuple2<Integer, byte[]> record) {
        long sum = 0;
        for (byte b : record._2()) {
            // A sum that depends on the order of bytes.
            sum = sum * 31 + b;
        }
        sums.merge(record._1(), sum, Long::sum);
    }

    /** Runs the job: a sum over all bytes for each key. */
    public static Map<Integer, Long> sums(JavaPairRDD<Integer, Long> prepared) {
        return new HashMap<>(prepared.collectAsMap());
    }

    /** Returns what the sums have to be. */
    public Map<Integer, Long> expected() {
        Map<Integer, Long> sums = new HashMap<>();
        for (int map = 0; map < maps; map++) {
            recordsOf(seed(map)).forEachRemaining(record -> add(sums, record));
        }
        return sums;
    }
}
