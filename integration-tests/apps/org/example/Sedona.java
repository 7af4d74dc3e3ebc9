// SPDX-License-Identifier: Apache-2.0
package org.example;

import org.apache.sedona.spark.SedonaContext;
import org.apache.spark.sql.SparkSession;

/** Spatial joins of Apache Sedona: points in polygons, neighbours within a distance, nearest neighbours. */
public final class Sedona {
    private Sedona() {}

    /** Called by spark-submit. */
    public static void main(String[] args) throws Exception {
        try (SparkSession spark = SedonaContext.create(
                SedonaContext.builder().appName("sedona").getOrCreate())) {
            Findings findings = new Findings(spark);
            // Multiples of large primes, so that both shuffles see the same points.
            spark.sql("SELECT id, ST_Point(id * 7919 % 100003 / 1000D, id * 104729 % 100019 / 1000D) AS place"
                            + " FROM range(0, 60000, 1, 8)")
                    .createOrReplaceTempView("points");
            spark.sql("SELECT id, ST_Buffer(ST_Point(id * 6151 % 100043 / 1000D, id * 50021 % 100049 / 1000D), 0.5D)"
                            + " AS area FROM range(0, 3000, 1, 8)")
                    .createOrReplaceTempView("areas");
            findings.add(
                    "contains",
                    spark.sql("SELECT p.id, a.id AS area FROM points p JOIN areas a ON ST_Contains(a.area, p.place)"));
            findings.add(
                    "counted",
                    spark.sql("SELECT a.id, count(*) AS points FROM points p JOIN areas a"
                            + " ON ST_Intersects(a.area, p.place) GROUP BY a.id"));
            findings.add(
                    "distance",
                    spark.sql("SELECT p.id, q.id AS other FROM points p JOIN points q"
                            + " ON ST_Distance(p.place, q.place) < 0.2D WHERE q.id % 20 = 0"));
            findings.add(
                    "nearest",
                    spark.sql("SELECT q.id, p.id AS near FROM (SELECT * FROM points WHERE id % 100 = 0) q"
                            + " JOIN points p ON ST_KNN(q.place, p.place, 4, false)"));
            findings.write();
        }
    }
}
