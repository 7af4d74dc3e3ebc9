// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.util.Utils;

/** A query over a stream that keeps a sum for each key as batches come, one shuffle a batch. */
final class StreamingJob {
    private static final int BATCHES = 5;
    /** Each has a store of state. */
    private static final int MOST_PARTITIONS = 8;

    private static final Duration DEADLINE = Duration.ofMinutes(3);

    private static final String RESULT = "soak_stream";

    private StreamingJob() {}

    /** Writes rows to files, reads these as a stream, a file a batch; returns what the sums come to in the end. */
    static List<String> run(SparkSession spark, JobSpec job, Dataset<Row> rows) {
        Path folder = folder();
        String partitions = spark.conf().get("spark.sql.shuffle.partitions");
        try {
            spark.conf().set("spark.sql.shuffle.partitions", (long) Math.min(job.partitions(), MOST_PARTITIONS));
            rows.repartition(BATCHES).write().parquet(folder.resolve("rows").toString());
            return result(spark, rows, folder);
        } catch (TimeoutException | StreamingQueryException e) {
            throw new IllegalStateException("the stream failed", e);
        } finally {
            spark.conf().set("spark.sql.shuffle.partitions", partitions);
            Utils.deleteRecursively(folder.toFile());
        }
    }

    private static Path folder() {
        try {
            return Files.createTempDirectory("soak-stream-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> result(SparkSession spark, Dataset<Row> rows, Path folder)
            throws TimeoutException, StreamingQueryException {
        Dataset<Row> sums = spark.readStream()
                .schema(rows.schema())
                .option("maxFilesPerTrigger", 1)
                .parquet(folder.resolve("rows").toString())
                .groupBy("key")
                .agg(functions.count("id"), functions.sum("id"), functions.sum(Jobs.digest()));
        spark.conf()
                .set(
                        "spark.sql.streaming.checkpointLocation",
                        folder.resolve("checkpoint").toString());
        StreamingQuery query = sums.writeStream()
                .outputMode("complete")
                .format("memory")
                .queryName(RESULT)
                .trigger(Trigger.AvailableNow())
                .start();
        try {
            if (!query.awaitTermination(DEADLINE.toMillis())) {
                throw new IllegalStateException("the stream did not end within " + DEADLINE.toSeconds() + " s");
            }
            return spark.table(RESULT).collectAsList().stream()
                    .map(Row::toString)
                    .sorted()
                    .toList();
        } finally {
            query.stop();
        }
    }
}
