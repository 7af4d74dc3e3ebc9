// SPDX-License-Identifier: Apache-2.0
package org.example;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.spark.ml.classification.LogisticRegression;
import org.apache.spark.ml.classification.RandomForestClassifier;
import org.apache.spark.ml.clustering.KMeans;
import org.apache.spark.ml.feature.VectorAssembler;
import org.apache.spark.ml.fpm.FPGrowth;
import org.apache.spark.ml.linalg.Vector;
import org.apache.spark.ml.recommendation.ALS;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Models of MLlib, most of which sum doubles in the order in which blocks come: compared to four digits. */
public final class Models {
    private Models() {}

    /** Called by spark-submit. */
    public static void main(String[] args) throws Exception {
        try (SparkSession spark = SparkSession.builder().appName("mllib").getOrCreate()) {
            Findings findings = new Findings(spark);
            Dataset<Row> ratings = spark.range(0, 100_000, 1, 8)
                    .selectExpr(
                            "cast(id * 7919 % 2003 AS int) AS user",
                            "cast(id * 104729 % 701 AS int) AS item",
                            "cast(1 + pmod(xxhash64(id), 5) AS float) AS rating");
            Dataset<Row> factors = new ALS()
                    .setRank(6)
                    .setMaxIter(5)
                    .setSeed(1)
                    .fit(ratings)
                    .itemFactors();
            findings.add("als", factors.selectExpr("id", "transform(features, x -> format_number(x, 3))"));

            Dataset<Row> points = new VectorAssembler()
                    .setInputCols(new String[] {"x", "y", "z"})
                    .setOutputCol("features")
                    .transform(spark.range(0, 100_000, 1, 8)
                            .selectExpr(
                                    "id",
                                    "pmod(xxhash64(id, 1), 1000) / 1000D + id % 4 AS x",
                                    "pmod(xxhash64(id, 2), 1000) / 1000D + id % 3 AS y",
                                    "pmod(xxhash64(id, 3), 1000) / 1000D AS z",
                                    "cast(id % 4 > 1 AS double) AS label"))
                    .repartition(8)
                    // Rows arrive in any order, with sort shuffle too, and samples depend on it.
                    .sortWithinPartitions("id");
            points.cache();
            findings.add(
                    "k-means",
                    Arrays.stream(new KMeans().setK(4).setSeed(1).setMaxIter(3).fit(points).clusterCenters())
                            .map(Models::rounded)
                            .sorted()
                            .collect(Collectors.joining(", ")));
            findings.add(
                    "regression",
                    rounded(new LogisticRegression().setMaxIter(10).fit(points).coefficients()));
            findings.add(
                    "forest",
                    new RandomForestClassifier()
                            .setNumTrees(5)
                            .setSeed(1)
                            .fit(points)
                            .transform(points)
                            .select("id", "prediction"));
            Dataset<Row> baskets = spark.range(0, 20_000, 1, 8)
                    .selectExpr("array_distinct(transform(sequence(1, 8), n -> pmod(xxhash64(id, n), 10 + n * n)))"
                            + " AS items");
            findings.add(
                    "itemsets",
                    new FPGrowth()
                            .setMinSupport(0.01)
                            .fit(baskets)
                            .freqItemsets()
                            .selectExpr("sort_array(items)", "freq"));
            findings.write();
        }
    }

    private static String rounded(Vector vector) {
        return Arrays.stream(vector.toArray())
                .mapToObj(each -> String.format("%.4g", each))
                .collect(Collectors.joining(" "));
    }
}
