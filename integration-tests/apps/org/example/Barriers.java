// SPDX-License-Identifier: Apache-2.0
package org.example;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import scala.Function1;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Barrier stages between shuffles: all tasks of a stage run at the same time and exchange their sums. */
public final class Barriers {
    private Barriers() {}

    /** Called by spark-submit. */
    public static void main(String[] args) throws Exception {
        try (SparkSession spark = SparkSession.builder().appName("barrier").getOrCreate()) {
            Findings findings = new Findings(spark);
            JavaRDD<Long> numbers = spark.range(0, 500_000, 1, 8).javaRDD().map(Long::longValue);
            for (int round = 1; round <= 5; round++) {
                int modulus = 1_000 * round;
                JavaPairRDD<Long, Long> sums = numbers.mapToPair(each -> new Tuple2<>(each % modulus, each))
                        .reduceByKey(Long::sum, 2);
                RDD<Tuple2<Long, Long>> shuffled = sums.rdd();
                ClassTag<String> strings = ClassTag$.MODULE$.apply(String.class);
                Function1<scala.collection.Iterator<Tuple2<Long, Long>>, scala.collection.Iterator<String>> stage =
                        (Function1<scala.collection.Iterator<Tuple2<Long, Long>>, scala.collection.Iterator<String>>
                                        & Serializable)
                                rows -> CollectionConverters.asScala(exchange(CollectionConverters.asJava(rows)));
                JavaRDD<String> exchanged = shuffled.barrier().mapPartitions(stage, false, strings).toJavaRDD();
                List<String> found = new ArrayList<>(exchanged
                        .mapToPair(each -> new Tuple2<>(each, 1))
                        .reduceByKey(Integer::sum, 2)
                        .map(pair -> pair._1() + " x " + pair._2())
                        .collect());
                found.sort(null);
                findings.add("round " + round, found);
            }
            findings.write();
        }
    }

    /** Returns the sums of all tasks, which each of them learns from the others. */
    private static Iterator<String> exchange(Iterator<Tuple2<Long, Long>> rows) {
        long keys = 0;
        long sum = 0;
        while (rows.hasNext()) {
            keys++;
            sum += rows.next()._2();
        }
        BarrierTaskContext task = BarrierTaskContext.get();
        task.barrier();
        String[] all = task.allGather(keys + ":" + sum);
        task.barrier();
        return Arrays.asList(all).iterator();
    }
}
