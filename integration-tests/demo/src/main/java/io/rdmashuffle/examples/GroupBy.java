// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.examples;

import java.io.IOException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/**
 * Moves every row through a shuffle, counts the rows of each group and checks the sum; arguments: rows (2000000),
 * groups (1000).
 */
public final class GroupBy {
    private GroupBy() {}

    /** Called by spark-submit; ends with exit code 1 if the result is wrong. */
    public static void main(String[] args) throws IOException {
        long rows = args.length > 0 ? Long.parseLong(args[0]) : 2_000_000;
        long groups = args.length > 1 ? Long.parseLong(args[1]) : 1_000;
        boolean right;
        try (SparkSession spark = SparkSession.builder().appName("GroupBy").getOrCreate()) {
            long started = System.nanoTime();
            // The repartition sends whole rows, not partial counts.
            Row found = spark.range(rows)
                    .withColumn("group", functions.col("id").mod(groups))
                    .repartition(functions.col("group"))
                    .groupBy("group")
                    .agg(functions.count("id").as("n"))
                    .agg(functions.count("group"), functions.sum("n"))
                    .head();
            right = found.getLong(0) == Math.min(rows, groups) && found.getLong(1) == rows;
            System.out.printf(
                    "%d rows in %d groups: %s, %d ms, shuffled by %s%n",
                    found.getLong(1),
                    found.getLong(0),
                    right ? "right" : "WRONG",
                    (System.nanoTime() - started) / 1_000_000,
                    spark.conf().get("spark.shuffle.manager", "sort"));
        }
        if (!right) {
            System.exit(1);
        }
    }
}
