// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.lines;

import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import scala.Tuple2;

/**
 * Shuffles of RDDs and of SQL on two cores, with the settings in the JVM's properties; prints the number of map outputs
 * in the pool, and fails unless every result is right.
 */
public final class SmallJobs {
    private static final int ROWS = 20_000;
    private static final int KEYS = 100;
    private static final int PARTITIONS = 4;

    private SmallJobs() {}

    /** Takes no arguments. */
    public static void main(String[] arguments) throws IOException {
        try (SparkSession spark = SparkSession.builder().config(new SparkConf()).getOrCreate()) {
            Map<Long, Long> expected = new TreeMap<>();
            for (long i = 0; i < ROWS; i++) {
                expected.merge(i % KEYS, i, Long::sum);
            }
            requireSame("RDD, grouped", expected, grouped(spark));
            requireSame("SQL, summed", expected, summed(spark));
            requireSame("SQL, joined", expected, joined(spark));
            System.out.println("all right, map outputs in the pool: " + pooled());
        }
    }

    private static long pooled() {
        RdmaShuffleManager manager = (RdmaShuffleManager) SparkEnv.get().shuffleManager();
        return manager.statistics(Duration.ofSeconds(10)).total(ShuffleCounter.MAP_OUTPUTS_POOLED);
    }

    private static Map<Long, Long> grouped(SparkSession spark) {
        List<Long> numbers = IntStream.range(0, ROWS).mapToObj(Long::valueOf).toList();
        return JavaSparkContext.fromSparkContext(spark.sparkContext())
                .parallelize(numbers, PARTITIONS)
                .mapToPair(number -> new Tuple2<>(number % KEYS, number))
                .groupByKey(PARTITIONS)
                .mapValues(values -> {
                    long sum = 0;
                    for (long value : values) {
                        sum += value;
                    }
                    return sum;
                })
                .sortByKey()
                .collectAsMap();
    }

    private static Map<Long, Long> summed(SparkSession spark) {
        return sums(spark.range(0, ROWS, 1, PARTITIONS)
                .groupBy(functions.col("id").mod(KEYS))
                .agg(functions.sum("id"))
                .collectAsList());
    }

    private static Map<Long, Long> joined(SparkSession spark) {
        spark.conf().set("spark.sql.autoBroadcastJoinThreshold", -1L);
        return sums(spark.range(0, ROWS, 1, PARTITIONS)
                .join(
                        spark.range(0, ROWS, 1, PARTITIONS)
                                .withColumn("key", functions.col("id").mod(KEYS)),
                        "id")
                .groupBy("key")
                .agg(functions.sum("id"))
                .collectAsList());
    }

    private static Map<Long, Long> sums(List<Row> rows) {
        return rows.stream().collect(Collectors.toMap(row -> row.getLong(0), row -> row.getLong(1)));
    }

    private static void requireSame(String what, Map<Long, Long> expected, Map<Long, Long> found) {
        if (!expected.equals(new TreeMap<>(found))) {
            throw new IllegalStateException(what + ": expected " + expected + ", found " + found);
        }
    }
}
