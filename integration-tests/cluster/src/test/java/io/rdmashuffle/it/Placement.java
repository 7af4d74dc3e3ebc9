// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.harness.spark.SparkCalls;
import io.rdmashuffle.spark.compat.ScalaCollections;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Tasks at executors of the test's choice. Needs a {@code spark.locality.wait} that outlasts the job. */
final class Placement {
    private Placement() {}

    /** Waits for {@code count} executors, and returns them. */
    static List<BlockManagerId> awaitExecutors(int count) throws InterruptedException {
        ShuffleObserver.await(count + " executors", () -> executors().size() == count);
        return executors();
    }

    private static List<BlockManagerId> executors() {
        BlockManager driver = SparkEnv.get().blockManager();
        return SparkCalls.list(driver.master(), "getPeers", driver.blockManagerId());
    }

    /** Where a task should run: Spark knows a single executor as a place. */
    private static Seq<String> place(BlockManagerId executor) {
        return ScalaCollections.list(List.of("executor_" + executor.host() + "_" + executor.executorId()));
    }

    /** Returns elements, a partition each, of tasks that run at one executor. */
    @SuppressWarnings("unchecked") // The array has the elements' type.
    static JavaRDD<Integer> at(SparkCluster cluster, BlockManagerId executor, int partitions) {
        List<Tuple2<Integer, Seq<String>>> elements = IntStream.range(0, partitions)
                .mapToObj(i -> new Tuple2<>(i, place(executor)))
                .toList();
        ClassTag<Integer> type = ClassTag$.MODULE$.apply(Integer.class);
        RDD<Integer> rdd =
                (RDD<Integer>) SparkCalls.call(cluster.context(), "makeRDD", ScalaCollections.list(elements), type);
        return JavaRDD.fromRDD(rdd, type);
    }
}
