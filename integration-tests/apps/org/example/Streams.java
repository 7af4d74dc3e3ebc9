// SPDX-License-Identifier: Apache-2.0
package org.example;

import java.time.Duration;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;

/**
 * Structured streaming with state in RocksDB: sums over 200 micro-batches, and a join of two streams. The argument is
 * an empty folder.
 */
public final class Streams {
    private static final int SUMMED_FILES = 200;
    private static final int JOINED_FILES = 40;

    private Streams() {}

    /** Called by spark-submit. */
    public static void main(String[] args) throws Exception {
        try (SparkSession spark = SparkSession.builder()
                .appName("streams")
                .config(
                        "spark.sql.streaming.stateStore.providerClass",
                        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
                .config("spark.sql.shuffle.partitions", 2)
                .getOrCreate()) {
            Findings findings = new Findings(spark);
            Dataset<Row> summed = source(spark, args[0] + "/summed", 400_000, SUMMED_FILES)
                    .groupBy(functions.col("id").mod(5_000).as("k"))
                    .agg(functions.count("*").as("count"), functions.sum("id").as("sum"));
            findings.add(
                    "batches",
                    run(SUMMED_FILES, summed.writeStream()
                            .format("memory")
                            .queryName("sums")
                            .outputMode("complete")
                            .option("checkpointLocation", args[0] + "/summed-checkpoint")));
            findings.add("sums", spark.table("sums"));

            // The watermark lies behind the whole input, so that the order of the files decides nothing.
            Dataset<Row> left = source(spark, args[0] + "/left", 20_000, JOINED_FILES)
                    .withWatermark("time", "10 days")
                    .as("l");
            Dataset<Row> right = source(spark, args[0] + "/right", 20_000, JOINED_FILES)
                    .withWatermark("time", "10 days")
                    .as("r");
            Dataset<Row> joined = left.join(
                            right,
                            functions.expr("l.id % 7000 = r.id % 7000"
                                    + " AND l.time BETWEEN r.time - INTERVAL 2 HOURS AND r.time + INTERVAL 2 HOURS"))
                    .selectExpr("l.id AS left", "r.id AS right");
            findings.add(
                    "joined batches",
                    run(JOINED_FILES, joined.writeStream()
                            .format("parquet")
                            .option("path", args[0] + "/joined")
                            .option("checkpointLocation", args[0] + "/joined-checkpoint")));
            findings.add("joined", spark.read().parquet(args[0] + "/joined"));
            findings.write();
        }
    }

    private static Dataset<Row> source(SparkSession spark, String folder, long rows, int files) {
        spark.range(0, rows, 1, files)
                .selectExpr("id", "timestamp_seconds(1700000000 + id) AS time")
                .write()
                .parquet(folder);
        return spark.readStream()
                .schema("id LONG, time TIMESTAMP")
                .option("maxFilesPerTrigger", 1)
                .parquet(folder);
    }

    /** Runs a query until it has read all files, each in a micro-batch of its own; returns the number of files. */
    private static int run(int files, DataStreamWriter<Row> writer) throws Exception {
        StreamingQuery query = writer.trigger(Trigger.AvailableNow()).start();
        if (!query.awaitTermination(Duration.ofMinutes(15).toMillis())) {
            throw new IllegalStateException("still running after 15 minutes: " + query.status());
        }
        // A batch without data may follow.
        if (query.lastProgress().batchId() < files - 1) {
            throw new IllegalStateException("fewer micro-batches than files: " + query.lastProgress());
        }
        return files;
    }
}
