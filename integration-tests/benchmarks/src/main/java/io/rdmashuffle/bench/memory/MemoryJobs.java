// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.expressions.Window;
import org.apache.spark.sql.functions;
import scala.Tuple2;

/** Runs the jobs, in a Spark driver; what DataFrames yield goes to the data source that drops all rows. */
final class MemoryJobs {
    /** Map tasks of each shuffle: few, so that each has more than memory holds. */
    static final int TASKS = 2;

    private static final int READERS = 10;
    private static final int GROUP_ROWS = 20_000;
    private static final int SORTED_PARTS = 16;
    private static final int MATCHES = 4;
    private static final int WIDE_RECORD_ROWS = 4;
    private static final int WIDE_FIELDS = 20;
    private static final int EXCEPTIONS = 1_000;
    private static final long SEED_STEP = 0x9e3779b97f4a7c15L;

    private final SparkSession spark;
    private final long rows;

    MemoryJobs(SparkSession spark, long rows) {
        this.spark = spark;
        this.rows = rows;
    }

    /** Runs a job to its end. */
    void run(MemoryJob job) {
        switch (job) {
            case WINDOW -> {
                Column all = functions.avg("id").over(Window.partitionBy("group"));
                write(read(rows(rows, TASKS).withColumn("mean", all), 200), "Window", "Exchange");
            }
            case COALESCE -> {
                Dataset<Row> sorted = rows(rows, SORTED_PARTS).sortWithinPartitions("text");
                write(read(sorted.coalesce(TASKS), 200), "Sort", "Coalesce", "Exchange");
            }
            case JOIN -> write(read(joined(), 200), "SortMergeJoin", "Exchange");
            case AGGREGATE -> {
                Column id = functions.col("id");
                Dataset<Row> groups = rows(rows, TASKS)
                        .groupBy(functions.xxhash64(id).as("id"))
                        .agg(functions.sum(id), functions.avg(id), functions.min(id), functions.count(id));
                write(read(groups, 2_000), "HashAggregate", "Exchange");
            }
            case KRYO -> wideRecords();
            case ONE_PARTITION -> {
                Column id = functions.col("id");
                Column skewed = functions
                        .when(functions.pmod(id, functions.lit(EXCEPTIONS)).equalTo(0), id)
                        .otherwise(functions.lit(-1L));
                write(rows(rows, TASKS).repartition(READERS, skewed).sortWithinPartitions("text"), "Sort", "Exchange");
            }
        }
    }

    /** Rows of some 150 bytes. */
    private Dataset<Row> rows(long count, int tasks) {
        Column id = functions.col("id");
        Column[] digits = IntStream.range(0, 6)
                .mapToObj(i -> functions.hex(functions.xxhash64(id, functions.lit(i))))
                .toArray(Column[]::new);
        return spark.range(0, count, 1, tasks)
                .toDF()
                .withColumn("group", functions.pmod(functions.xxhash64(id), functions.lit(groups(count))))
                .withColumn("text", functions.concat(digits));
    }

    private static long groups(long count) {
        return Math.max(1, count / GROUP_ROWS);
    }

    private Dataset<Row> joined() {
        long keys = Math.max(1, rows / (2 * MATCHES));
        Column id = functions.col("id");
        Dataset<Row> left =
                rows(keys, TASKS).select(id.as("key"), functions.col("text").as("left"));
        Dataset<Row> right = rows(keys * MATCHES, TASKS)
                .select(functions.pmod(id, functions.lit(keys)).as("key"), id, functions.col("text"));
        return left.join(right, "key");
    }

    /** Exchanges rows; few tasks read many partitions, since this is about the ones that write. */
    private static Dataset<Row> read(Dataset<Row> written, int partitions) {
        return written.repartition(partitions, functions.col("id")).coalesce(READERS);
    }

    private static void write(Dataset<Row> result, String... operators) {
        String plan = result.queryExecution().executedPlan().toString();
        for (String operator : operators) {
            if (!plan.contains(operator)) {
                throw new IllegalStateException("Spark has planned the job without " + operator + ": " + plan);
            }
        }
        result.write().format("noop").mode("overwrite").save();
    }

    /** An object with arrays; not a record, whose fields Kryo cannot set. */
    private static final class Wide implements Serializable {
        private static final long serialVersionUID = 1;

        private long[] longs;
        private double[] doubles;
        private String[] texts;

        Wide(SplittableRandom random) {
            longs = random.longs(WIDE_FIELDS).toArray();
            doubles = random.doubles(WIDE_FIELDS).toArray();
            texts = random.longs(WIDE_FIELDS / 2).mapToObj(Long::toHexString).toArray(String[]::new);
        }

        boolean isWhole() {
            return longs.length == WIDE_FIELDS
                    && doubles.length == WIDE_FIELDS
                    && !Arrays.asList(texts).contains(null);
        }
    }

    private void wideRecords() {
        long records = rows / WIDE_RECORD_ROWS / TASKS;
        List<Integer> tasks = IntStream.range(0, TASKS).boxed().toList();
        JavaSparkContext.fromSparkContext(spark.sparkContext())
                .parallelize(tasks, TASKS)
                .flatMapToPair(task -> {
                    SplittableRandom random = new SplittableRandom(task * SEED_STEP);
                    return LongStream.range(0, records)
                            .mapToObj(i -> new Tuple2<>(random.nextLong(), new Wide(random)))
                            .iterator();
                })
                .partitionBy(new HashPartitioner(400))
                .coalesce(READERS)
                .foreachPartition(MemoryJobs::look);
    }

    private static void look(Iterator<Tuple2<Long, Wide>> records) {
        while (records.hasNext()) {
            if (!records.next()._2().isWhole()) {
                throw new IllegalStateException("a record has come out as another");
            }
        }
    }
}
