// SPDX-License-Identifier: Apache-2.0
package org.example;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.SparkContext;
import org.apache.spark.graphx.Graph;
import org.apache.spark.graphx.GraphLoader;
import org.apache.spark.graphx.lib.ConnectedComponents;
import org.apache.spark.graphx.lib.PageRank;
import org.apache.spark.graphx.lib.TriangleCount;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Algorithms of GraphX on a random graph. The argument is an empty folder. */
public final class Graphs {
    private static final int VERTICES = 20_000;
    private static final int EDGES = 120_000;

    private Graphs() {}

    /** Called by spark-submit. */
    public static void main(String[] args) throws Exception {
        Path edges = Path.of(args[0], "edges");
        // Squares make some vertices more popular than others.
        List<String> lines = IntStream.range(0, EDGES)
                .mapToObj(each -> {
                    long from = each * 7_919L % VERTICES;
                    long to = (each * 104_729L % VERTICES) * (each % 101) / 100;
                    return from + " " + to;
                })
                .filter(edge -> !edge.split(" ")[0].equals(edge.split(" ")[1]))
                .distinct()
                .toList();
        Files.write(edges, lines);
        try (SparkSession spark = SparkSession.builder().appName("graphs").getOrCreate()) {
            Findings findings = new Findings(spark);
            Graph<Object, Object> graph = load(spark.sparkContext(), edges);
            ClassTag<Object> any = ClassTag$.MODULE$.apply(Object.class);
            add(findings, spark, "rank", PageRank.run(graph, 10, 0.15, any, any));
            add(findings, spark, "component", ConnectedComponents.run(graph, any, any));
            add(findings, spark, "triangles", TriangleCount.run(graph, any, any));
            findings.write();
        }
    }

    private static Graph<Object, Object> load(SparkContext context, Path edges) {
        StorageLevel memory = StorageLevel.MEMORY_ONLY();
        return GraphLoader.edgeListFile(context, edges.toString(), true, 8, memory, memory);
    }

    /** Adds a digest of the values of all vertices; sums of doubles depend on their order in the last digits. */
    private static <V, E> void add(Findings findings, SparkSession spark, String name, Graph<V, E> graph) {
        @SuppressWarnings("unchecked")
        List<String> each = graph.vertices()
                .toJavaRDD()
                .map(pair -> ((Tuple2<Object, V>) pair)._1() + " "
                        + (((Tuple2<Object, V>) pair)._2() instanceof Double rank
                                ? String.format("%.6f", rank)
                                : ((Tuple2<Object, V>) pair)._2()))
                .collect();
        findings.add(name, spark.createDataset(each, org.apache.spark.sql.Encoders.STRING()).toDF());
    }
}
