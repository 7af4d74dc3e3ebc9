// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/** Jobs of the DataFrame API; results go to the {@code noop} data source. */
final class SqlJobs {
    private static final int HASH_DIGITS = 16;

    private final SparkSession spark;
    private final BenchJob job;

    SqlJobs(SparkSession spark, BenchJob job) {
        this.spark = spark;
        this.job = job;
    }

    /** Runs the job to its end. */
    void run() {
        rows().write().format("noop").mode("overwrite").save();
    }

    private Dataset<Row> rows() {
        return switch (job.kind()) {
            case REPARTITION -> exchanged(withPayload(range(job.rows()), 0), functions.col("id"));
            case SKEW -> exchanged(withPayload(range(job.rows()), 0), skewed());
            case GROUP_BY -> grouped();
            case JOIN -> joined();
            case TERASORT, REDUCE_BY_KEY -> throw new IllegalArgumentException(job + " is for RDDs");
        };
    }

    private Dataset<Row> range(long rows) {
        return spark.range(0, rows, 1, job.partitions()).toDF();
    }

    private Dataset<Row> exchanged(Dataset<Row> rows, Column key) {
        return job.shuffles() ? rows.repartition(job.partitions(), key) : rows;
    }

    private static Column skewed() {
        Column id = functions.col("id");
        return functions
                .when(functions.pmod(id, functions.lit(2)).equalTo(0), 0L)
                .otherwise(id);
    }

    /** Each key comes twice, half of the rows apart and so in two map tasks: combining there saves nothing. */
    private Dataset<Row> grouped() {
        Column id = functions.col("id");
        if (job.shuffles()) {
            Column key = functions.xxhash64(functions.pmod(id, functions.lit(Math.max(1, job.rows() / 2))));
            return range(job.rows())
                    .select(key.as("key"), id)
                    .groupBy("key")
                    .agg(functions.sum("id"), functions.count("id"));
        }
        // A range is partitioned by its ids already, so that Spark groups by them twice without an exchange between.
        return range(job.rows())
                .groupBy("id")
                .agg(functions.sum(functions.xxhash64(id)), functions.count(functions.lit(1)));
    }

    private Dataset<Row> joined() {
        Dataset<Row> left = side("left", 1);
        Dataset<Row> right = side("right", 2);
        // Both sides sorted where they are; only the merge itself is missing.
        return job.shuffles()
                ? left.join(right, "key")
                : left.sortWithinPartitions("key").union(right.sortWithinPartitions("key"));
    }

    private Dataset<Row> side(String payload, int seed) {
        return withPayload(range(Math.max(1, job.rows() / 2)), seed)
                .select(
                        functions.xxhash64(functions.col("id")).as("key"),
                        functions.col("payload").as(payload));
    }

    /** Adds text of the job's length: the first half does not compress, the rest does. */
    private Dataset<Row> withPayload(Dataset<Row> rows, int seed) {
        int length = job.payloadBytes();
        List<Column> digits = new ArrayList<>();
        for (int i = 0; i < length / 2; i += HASH_DIGITS) {
            digits.add(functions.hex(functions.xxhash64(functions.col("id"), functions.lit(seed + i))));
        }
        Column text = functions.concat(digits.toArray(Column[]::new));
        return rows.withColumn("payload", functions.rpad(text, length, "shuffle "));
    }
}
