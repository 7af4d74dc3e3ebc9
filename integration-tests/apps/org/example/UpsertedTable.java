// SPDX-License-Identifier: Apache-2.0
package org.example;

import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;

/** The life of a table of a lakehouse: MERGE, UPDATE, DELETE, compaction, and a stream that upserts into it. */
final class UpsertedTable {
    private static final int UPSERTS = 20;

    private final SparkSession spark;
    private final Findings findings;
    private final String table;

    UpsertedTable(SparkSession spark, Findings findings, String table) {
        this.spark = spark;
        this.findings = findings;
        this.table = table;
    }

    void create(String format) {
        spark.sql("CREATE TABLE " + table + " USING " + format
                + " AS SELECT id, id % 97 AS k, sha2(cast(id AS string), 256) AS text, 0L AS amount"
                + " FROM range(0, 200000, 1, 8)");
        found("created");
    }

    void change() {
        spark.sql("MERGE INTO " + table + " t USING"
                + " (SELECT id * 3 AS id, id % 89 AS k, sha2(cast(id AS string), 224) AS text, id AS amount"
                + " FROM range(0, 100000, 1, 8)) s ON t.id = s.id"
                + " WHEN MATCHED AND s.id % 7 = 0 THEN DELETE"
                + " WHEN MATCHED THEN UPDATE SET text = s.text, amount = t.amount + s.amount"
                + " WHEN NOT MATCHED THEN INSERT *");
        found("merged");
        spark.sql("UPDATE " + table + " SET text = concat(text, '+') WHERE k = 5");
        found("updated");
        spark.sql("DELETE FROM " + table + " WHERE id % 11 = 3 AND k > 50");
        found("deleted");
    }

    void compact(String statement) {
        spark.sql(statement).collect();
        found("compacted");
    }

    /** Upserts files one by one; their order, which differs between runs, does not change the sums. */
    void upsert(String folder) throws TimeoutException, StreamingQueryException {
        spark.range(0, 100_000, 1, UPSERTS)
                .selectExpr("id % 30000 AS id", "id % 97 AS k", "'of a stream' AS text", "id AS amount")
                .write()
                .parquet(folder + "/upserts");
        VoidFunction2<Dataset<Row>, Long> merge = (batch, id) -> {
            batch.createOrReplaceTempView("upserts");
            batch.sparkSession()
                    .sql("MERGE INTO " + table + " t USING"
                            + " (SELECT id, min(k) AS k, min(text) AS text, sum(amount) AS amount FROM upserts"
                            + " GROUP BY id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = t.amount + s.amount"
                            + " WHEN NOT MATCHED THEN INSERT *");
        };
        StreamingQuery query = spark.readStream()
                .schema("id LONG, k LONG, text STRING, amount LONG")
                .option("maxFilesPerTrigger", 1)
                .parquet(folder + "/upserts")
                .writeStream()
                .foreachBatch(merge)
                .option("checkpointLocation", folder + "/checkpoint")
                .trigger(Trigger.AvailableNow())
                .start();
        if (!query.awaitTermination(Duration.ofMinutes(15).toMillis())) {
            throw new IllegalStateException("still running after 15 minutes: " + query.status());
        }
        found("upserted");
    }

    private void found(String step) {
        findings.add(step, spark.table(table).select("id", "k", "text", "amount"));
    }
}
