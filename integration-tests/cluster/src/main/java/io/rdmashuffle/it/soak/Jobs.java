// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import scala.Tuple2;

/**
 * Turns a {@link JobSpec} into an action whose result is a list of lines; two runs of one job give equal lists, with
 * any shuffle and any number of stages run again.
 */
final class Jobs {
    private static final int LINE_ROWS = 500;

    private Jobs() {}

    /**
     * Returns the action. Calling it again runs the same plan, of which Spark skips stages whose map outputs it still
     * has.
     */
    static Supplier<List<String>> prepare(SparkSession spark, JobSpec job) {
        return switch (job.kind()) {
            case AGGREGATE ->
                sql(rows(spark, job).groupBy(functions.col("key")).agg(functions.sum("id"), functions.sum(digest())));
            case REPARTITION -> sql(perPartition(rows(spark, job).repartition(job.partitions(), functions.col("key"))));
            // Where a row goes is chance; that each arrives once is not.
            case ROUND_ROBIN -> sql(total(rows(spark, job).repartition(job.partitions())));
            case SKEWED_JOIN -> sql(total(joined(spark, job)));
            case ORDER_BY -> inOrder(rows(spark, job).orderBy("payload", "id").select("id"));
            case DISTINCT_OF_JOIN ->
                sql(joined(spark, job).select("key", "other").distinct());
            case REDUCE_BY_KEY ->
                rdd(pairs(spark, job).mapValues(payload -> crc(payload)).reduceByKey(Long::sum, job.partitions()));
            case GROUP_BY_KEY ->
                rdd(pairs(spark, job).groupByKey(job.partitions()).mapValues(Jobs::summary));
            case STREAMING -> () -> StreamingJob.run(spark, job, rows(spark, job));
            case SORT_BY_KEY -> ordered(pairs(spark, job).sortByKey(true, job.partitions()));
        };
    }

    private static Supplier<List<String>> sql(Dataset<Row> rows) {
        return () -> rows.collectAsList().stream().map(Row::toString).sorted().toList();
    }

    /** One line for some rows in their order. */
    private static Supplier<List<String>> inOrder(Dataset<Row> ids) {
        return () -> {
            List<Row> rows = ids.collectAsList();
            List<String> lines = new ArrayList<>();
            for (int i = 0; i < rows.size(); i += LINE_ROWS) {
                lines.add(i + ": "
                        + crc(rows.subList(i, Math.min(rows.size(), i + LINE_ROWS))
                                .toString()));
            }
            return lines;
        };
    }

    private static <V> Supplier<List<String>> rdd(JavaPairRDD<Integer, V> pairs) {
        return () -> pairs.map(pair -> pair._1() + "=" + pair._2()).collect().stream()
                .sorted()
                .toList();
    }

    /** Keys come in order, partition by partition; the values of one key in any. */
    private static Supplier<List<String>> ordered(JavaPairRDD<Integer, String> pairs) {
        return () -> {
            List<Integer> keys = new ArrayList<>(pairs.keys().collect());
            List<String> lines = new ArrayList<>();
            lines.add("in order: " + IntStream.range(1, keys.size()).allMatch(i -> keys.get(i - 1) <= keys.get(i)));
            lines.addAll(
                    rdd(pairs.mapValues(Jobs::crc).reduceByKey(Long::sum, 1)).get());
            return lines;
        };
    }

    /** Columns id, key, other, payload; half of the rows share one key. */
    private static Dataset<Row> rows(SparkSession spark, JobSpec job) {
        Column hash = functions.xxhash64(functions.col("id"), functions.lit(job.seed()));
        Column half = functions.pmod(hash, functions.lit(2)).equalTo(0);
        Column some = functions.pmod(hash, functions.lit(Math.max(1, job.rows() / 7)));
        return spark.range(0, job.rows(), 1, job.maps())
                .toDF()
                .withColumn("key", functions.when(half, 7L).otherwise(some))
                .withColumn("other", functions.pmod(hash, functions.lit(11)))
                .withColumn("payload", payload(hash, job.payloadBytes()));
    }

    /** Text of which half compresses; null where there is no payload. */
    private static Column payload(Column hash, int bytes) {
        if (bytes == 0) {
            return functions.lit(null).cast("string");
        }
        Column digest = functions.sha2(hash.cast("string").cast("binary"), 256);
        Column length = functions.pmod(hash, functions.lit(bytes)).cast("int").plus(1);
        return functions.call_function("substring", functions.repeat(digest, bytes / 64 + 1), functions.lit(1), length);
    }

    /** A sum of a whole row, so that it shows when two rows have changed places in part. */
    static Column digest() {
        Column[] columns = {functions.col("id"), functions.col("key"), functions.col("other"), functions.col("payload")
        };
        return functions.crc32(functions.concat_ws("|", columns).cast("binary"));
    }

    private static Dataset<Row> joined(SparkSession spark, JobSpec job) {
        Dataset<Row> keys = spark.range(0, 400, 1, 3).toDF().withColumnRenamed("id", "key");
        return rows(spark, job).join(keys, "key");
    }

    private static Dataset<Row> perPartition(Dataset<Row> rows) {
        return rows.withColumn("partition", functions.spark_partition_id())
                .groupBy("partition")
                .agg(functions.count("id"), functions.sum("id"), functions.sum(digest()));
    }

    private static Dataset<Row> total(Dataset<Row> rows) {
        return rows.agg(functions.count("id"), functions.sum("id"), functions.sum(digest()));
    }

    private static JavaPairRDD<Integer, String> pairs(SparkSession spark, JobSpec job) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        List<Integer> maps = IntStream.range(0, job.maps()).boxed().toList();
        return context.parallelize(maps, job.maps()).flatMapToPair(map -> {
            SplittableRandom random = new SplittableRandom(job.seed() + map);
            return IntStream.range(0, job.rows() / job.maps())
                    .mapToObj(i -> new Tuple2<>(random.nextInt(5_000), text(random, job.payloadBytes())))
                    .iterator();
        });
    }

    private static String text(SplittableRandom random, int bytes) {
        String digits = Long.toHexString(random.nextLong());
        return bytes == 0 ? "" : digits.repeat(bytes / digits.length() + 1).substring(0, 1 + random.nextInt(bytes));
    }

    private static String summary(Iterable<String> values) {
        long count = 0;
        long sum = 0;
        for (String value : values) {
            count++;
            sum += crc(value);
        }
        return String.format(Locale.ROOT, "%d values, sum %d", count, sum);
    }

    private static long crc(String text) {
        CRC32 crc = new CRC32();
        crc.update(text.getBytes(StandardCharsets.US_ASCII));
        return crc.getValue();
    }
}
