// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.device;

import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import io.rdmashuffle.harness.tpcds.TpcdsSchema;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/**
 * Runs jobs and boils each result down to one line: two runs on the same data give the same line, whatever the shuffle.
 *
 * <p><b>Threading:</b> one thread.
 */
final class JobResults {
    private static final long GROUPS = 1_000;

    private final SparkSession spark;
    private final long rows;
    private final Path data;
    private final QueryCatalogue queries = QueryCatalogue.load();
    private boolean tablesCreated;

    /**
     * Prepares to run jobs.
     *
     * @param data folder with one Parquet folder for each TPC-DS table
     * @param rows how many rows groupBy and teraSort move
     */
    JobResults(SparkSession spark, Path data, long rows) throws IOException {
        this.spark = spark;
        this.data = data;
        this.rows = rows;
    }

    String run(DeviceJob job) throws IOException, InterruptedException, TimeoutException {
        return switch (job) {
            case GROUP_BY -> groupBy();
            case TERA_SORT -> teraSort();
            case Q3, Q7 -> query(job.label());
            case HEIR -> new HeirJob(spark, rows).run();
        };
    }

    private String groupBy() {
        Row found = spark.range(rows)
                .withColumn("group", functions.col("id").mod(GROUPS))
                .repartition(functions.col("group"))
                .groupBy("group")
                .agg(functions.count("id").as("n"), functions.sum("id").as("s"))
                .agg(functions.count("group"), functions.sum("n"), functions.sum("s"))
                .head();
        return found.toString();
    }

    /**
     * One line a partition, in the order of partitions: rows, first and last key, and a checksum of all keys in order.
     */
    private String teraSort() {
        Dataset<Row> records = spark.range(rows)
                .select(
                        functions
                                .substring(
                                        functions.md5(functions
                                                .col("id")
                                                .cast("string")
                                                .cast("binary")),
                                        1,
                                        10)
                                .as("key"),
                        functions
                                .rpad(functions.col("id").cast("string"), 90, "abcdefghijklmnopqrstuvwxyz")
                                .as("value"));
        List<String> partitions = records.sort("key", "value")
                .mapPartitions(
                        (MapPartitionsFunction<Row, String>) sorted -> {
                            SortedCheck check = new SortedCheck();
                            sorted.forEachRemaining(row -> check.add(row.getString(0), row.getString(1)));
                            return check.isEmpty()
                                    ? Stream.<String>empty().iterator()
                                    : Stream.of(check.summary()).iterator();
                        },
                        Encoders.STRING())
                .collectAsList();
        return SortedCheck.join(partitions, rows);
    }

    private String query(String name) throws IOException {
        if (!tablesCreated) {
            TpcdsSchema.createTables(spark, data);
            tablesCreated = true;
        }
        List<Row> found = spark.sql(queries.text(name)).collectAsList();
        CRC32 checksum = new CRC32();
        found.stream()
                .map(Row::toString)
                .sorted()
                .forEach(line -> checksum.update((line + "\n").getBytes(StandardCharsets.UTF_8)));
        return found.size() + " rows, checksum " + Long.toHexString(checksum.getValue());
    }
}
