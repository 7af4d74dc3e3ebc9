// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.SparkCluster;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import scala.Tuple2;

/**
 * Jobs that between them use every kind of shuffle: each writer, aggregation on either side, ordering, batch reads,
 * empty partitions, adaptive coalescing and skew.
 *
 * <p>A result is a list of lines whose order counts only where the job sorts; two runs of one job on one Spark give
 * equal lists.
 */
final class ShuffleJobs {
    private static final int PAIRS = 60_000;

    /** What sort shuffle made of them, for all tests of a build. */
    private static final Map<String, List<String>> EXPECTED = new LinkedHashMap<>();

    private ShuffleJobs() {}

    /** Returns the results with sort shuffle, which runs the first time. */
    static synchronized Map<String, List<String>> expected() {
        if (EXPECTED.isEmpty()) {
            try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.SORT, settings())) {
                EXPECTED.putAll(runAll(cluster.spark()));
            }
            assertThat(EXPECTED.values()).noneMatch(List::isEmpty);
        }
        return EXPECTED;
    }

    /** Settings under which adaptive execution splits and coalesces even small data, and joins do not broadcast. */
    static Map<String, String> settings() {
        return Map.of(
                "spark.sql.autoBroadcastJoinThreshold", "-1",
                "spark.sql.adaptive.advisoryPartitionSizeInBytes", "64k",
                "spark.sql.adaptive.coalescePartitions.minPartitionSize", "1k",
                "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "64k",
                "spark.sql.adaptive.skewJoin.skewedPartitionFactor", "2");
    }

    /** Runs all jobs; the results by name. */
    static Map<String, List<String>> runAll(SparkSession spark) {
        Map<String, List<String>> results = new LinkedHashMap<>();
        results.put("groupBy", groupBy(spark));
        results.put("repartition", repartition(spark));
        results.put("skewedJoin", skewedJoin(spark));
        results.put("emptyPartitions", emptyPartitions(spark));
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        results.put("reduceByKey", reduceByKey(context));
        results.put("groupByKey", groupByKey(context));
        results.put("sortByKey", sortByKey(context));
        return results;
    }

    private static List<String> groupBy(SparkSession spark) {
        return sorted(spark.range(0, 200_000, 1, 6)
                .groupBy(functions.col("id").mod(5_000).as("key"))
                .agg(functions.sum("id"), functions.count("id")));
    }

    /** 220 partitions are too many for the bypass writer, so rows go through the serialised sorter; 50 MB of rows. */
    private static List<String> repartition(SparkSession spark) {
        return sorted(wide(spark)
                .repartition(220, functions.col("id"))
                .withColumn("partition", functions.spark_partition_id())
                .groupBy("partition")
                .agg(
                        functions.count("id"),
                        functions.sum("id"),
                        functions.sum(functions.crc32(functions.col("payload")))));
    }

    private static Dataset<Row> wide(SparkSession spark) {
        Dataset<Row> ids = spark.range(0, 200_000, 1, 6).toDF();
        return ids.withColumn(
                "payload",
                functions.concat(
                        functions.sha2(functions.col("id").cast("string").cast("binary"), 512),
                        functions.sha2(
                                functions.col("id").plus(1).cast("string").cast("binary"), 512)));
    }

    private static List<String> skewedJoin(SparkSession spark) {
        Dataset<Row> left = spark.range(0, 60_000, 1, 6)
                .toDF()
                .withColumn(
                        "key",
                        functions
                                .when(functions.col("id").mod(4).notEqual(0), 7L)
                                .otherwise(functions.col("id").mod(500)))
                .withColumn(
                        "text", functions.md5(functions.col("id").cast("string").cast("binary")));
        Dataset<Row> right = spark.range(0, 500, 1, 3).toDF().withColumnRenamed("id", "key");
        return sorted(left.join(right, "key")
                .groupBy("key")
                .agg(functions.count("id"), functions.sum(functions.crc32(functions.col("text")))));
    }

    private static List<String> emptyPartitions(SparkSession spark) {
        return sorted(spark.range(0, 50, 1, 5)
                .repartition(40, functions.col("id").mod(2))
                .withColumn("partition", functions.spark_partition_id())
                .groupBy("partition")
                .count());
    }

    private static List<String> reduceByKey(JavaSparkContext context) {
        return lines(pairs(context).reduceByKey((a, b) -> a + "|" + b, 7).mapValues(ShuffleJobs::letters), true);
    }

    private static List<String> groupByKey(JavaSparkContext context) {
        return lines(
                pairs(context).groupByKey(5).mapValues(values -> {
                    List<String> all = new ArrayList<>();
                    values.forEach(all::add);
                    all.sort(String::compareTo);
                    return checksum(String.join(",", all));
                }),
                true);
    }

    private static List<String> sortByKey(JavaSparkContext context) {
        return lines(
                pairs(context)
                        .mapToPair(pair -> new Tuple2<>(pair._2(), pair._1()))
                        .sortByKey(true, 9),
                false);
    }

    private static JavaPairRDD<Integer, String> pairs(JavaSparkContext context) {
        List<Integer> seeds = List.of(0, 1, 2, 3, 4, 5);
        return context.parallelize(seeds, seeds.size()).flatMapToPair(seed -> {
            List<Tuple2<Integer, String>> made = new ArrayList<>();
            for (int i = seed; i < PAIRS; i += 6) {
                made.add(new Tuple2<>(i % 997, String.format("%08x", i * 2_654_435_761L % 4_294_967_296L)));
            }
            return made.iterator();
        });
    }

    /** The order in which values were joined depends on which block came first; their letters do not. */
    private static String letters(String joined) {
        return joined.length() + ":" + joined.chars().asLongStream().sum();
    }

    private static String checksum(String text) {
        CRC32 crc = new CRC32();
        crc.update(text.getBytes(StandardCharsets.US_ASCII));
        return text.length() + ":" + crc.getValue();
    }

    private static List<String> sorted(Dataset<Row> rows) {
        return rows.collectAsList().stream().map(Row::toString).sorted().toList();
    }

    private static <K, V> List<String> lines(JavaPairRDD<K, V> pairs, boolean sort) {
        List<String> lines = pairs.map(pair -> pair._1() + "=" + pair._2()).collect();
        return sort ? lines.stream().sorted().toList() : List.copyOf(lines);
    }
}
