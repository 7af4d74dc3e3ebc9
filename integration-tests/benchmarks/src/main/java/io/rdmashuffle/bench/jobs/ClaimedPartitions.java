// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import org.apache.spark.Partition;
import org.apache.spark.Partitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import scala.Option;
import scala.collection.Iterator;

/**
 * Records as they are, with the claim that a partitioner put them where they are: Spark then sorts or combines them in
 * place and spares the shuffle, which is what a floor wants. Results are wrong, and as much work as right ones.
 */
final class ClaimedPartitions<T> extends RDD<T> {
    private final Partitioner claimed;

    ClaimedPartitions(RDD<T> records, Partitioner claimed) {
        super(records, records.elementClassTag());
        this.claimed = claimed;
    }

    @Override
    public Iterator<T> compute(Partition split, TaskContext context) {
        return this.<T>firstParent(elementClassTag()).iterator(split, context);
    }

    @Override
    public Partition[] getPartitions() {
        return this.<T>firstParent(elementClassTag()).partitions();
    }

    @Override
    public Option<Partitioner> partitioner() {
        return Option.apply(claimed);
    }
}
