// SPDX-License-Identifier: Apache-2.0
package org.example;

import org.apache.spark.sql.SparkSession;

/** A table of Delta Lake. The argument is an empty folder. */
public final class Delta {
    private Delta() {}

    /** Called by spark-submit. */
    public static void main(String[] args) throws Exception {
        try (SparkSession spark = SparkSession.builder()
                .appName("delta")
                .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
                .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
                // The default of 50 is for logs of large tables.
                .config("spark.databricks.delta.snapshotPartitions", 2)
                .config("spark.sql.warehouse.dir", args[0] + "/warehouse")
                .getOrCreate()) {
            Findings findings = new Findings(spark);
            UpsertedTable table = new UpsertedTable(spark, findings, "upserted");
            table.create("delta");
            table.change();
            table.compact("OPTIMIZE upserted ZORDER BY (k, id)");
            table.upsert(args[0]);
            findings.write();
        }
    }
}
