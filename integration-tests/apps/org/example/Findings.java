// SPDX-License-Identifier: Apache-2.0
package org.example;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Results of an application as lines {@code name=value}, which {@code bin/apps-test} compares between shuffles. */
final class Findings {
    private final SparkSession spark;
    private final List<String> lines = new ArrayList<>();

    Findings(SparkSession spark) {
        this.spark = spark;
    }

    /** Adds a digest of the rows of a table that does not depend on their order. */
    void add(String name, Dataset<Row> rows) {
        Row digest = rows.selectExpr("xxhash64(*) AS hash")
                .selectExpr("count(*)", "bit_xor(hash)", "sum(pmod(hash, 1000000007L))")
                .first();
        add(name, digest.mkString(" "));
    }

    void add(String name, Object value) {
        lines.add(name + "=" + value);
        System.out.println(name + "=" + value);
    }

    /**
     * Writes the results to {@code <spark.example.result>}, and the name and counters of the shuffle manager to
     * {@code <spark.example.result>.shuffle}.
     */
    void write() throws IOException, ReflectiveOperationException {
        String result = spark.conf().get("spark.example.result");
        Files.write(Path.of(result), lines);
        Object manager = SparkEnv.get().shuffleManager();
        Object statistics = "none";
        try {
            statistics = manager.getClass()
                    .getMethod("statistics", Duration.class)
                    .invoke(manager, Duration.ofSeconds(20));
        } catch (NoSuchMethodException sortShuffle) {
            // It has none.
        }
        Files.write(
                Path.of(result + ".shuffle"),
                List.of("manager=" + manager.getClass().getName(), "statistics=" + statistics));
    }
}
