// SPDX-License-Identifier: Apache-2.0
package org.example;

import org.apache.spark.sql.SparkSession;

/** A table of Apache Iceberg. The argument is an empty folder. */
public final class Iceberg {
    private Iceberg() {}

    /** Called by spark-submit. */
    public static void main(String[] args) throws Exception {
        try (SparkSession spark = SparkSession.builder()
                .appName("iceberg")
                .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
                .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
                .config("spark.sql.catalog.lake.type", "hadoop")
                .config("spark.sql.catalog.lake.warehouse", args[0] + "/warehouse")
                .getOrCreate()) {
            Findings findings = new Findings(spark);
            UpsertedTable table = new UpsertedTable(spark, findings, "lake.db.upserted");
            table.create("iceberg");
            table.change();
            table.compact("CALL lake.system.rewrite_data_files(table => 'db.upserted', strategy => 'sort',"
                    + " sort_order => 'zorder(k, id)', options => map('rewrite-all', 'true'))");
            table.upsert(args[0]);
            findings.write();
        }
    }
}
