// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.spark.compat.SparkLine;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.util.CompletionIterator;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.runtime.BoxedUnit;

/**
 * What Spark's own reader does with records once they are there: counts them, lets the task be interrupted, combines
 * and sorts as the shuffle asks.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * @param spark makes the sorter
 * @param dependency the shuffle's
 * @param context the task's
 * @param metrics counts records
 * @param <K> key
 * @param <C> combined value
 */
public record ReducePipeline<K, C>(
        SparkLine spark,
        ShuffleDependency<K, ?, C> dependency,
        TaskContext context,
        ShuffleReadMetricsReporter metrics) {
    /** Returns the result for records as they were written. */
    public Iterator<Product2<K, C>> of(Iterator<Tuple2<Object, Object>> records) {
        Iterator<Tuple2<Object, Object>> counted = CompletionIterator.apply(
                records.map(record -> {
                    metrics.incRecordsRead(1);
                    return record;
                }),
                () -> {
                    context.taskMetrics().mergeShuffleReadMetrics();
                    return BoxedUnit.UNIT;
                });
        Iterator<Tuple2<Object, Object>> interruptible = new InterruptibleIterator<>(context, counted);
        Iterator<Product2<K, C>> result = sortOrCombine(interruptible);
        // Aggregator and sorter may have consumed the interruptible iterator already.
        return result instanceof InterruptibleIterator ? result : new InterruptibleIterator<>(context, result);
    }

    @SuppressWarnings("unchecked")
    private Iterator<Product2<K, C>> sortOrCombine(Iterator<Tuple2<Object, Object>> records) {
        Iterator<?> untyped = records;
        if (dependency.keyOrdering().isDefined()) {
            return sorter().insertAllAndUpdateMetrics((Iterator<Product2<K, Object>>) untyped);
        }
        if (dependency.aggregator().isEmpty()) {
            return (Iterator<Product2<K, C>>) untyped;
        }
        Aggregator<K, Object, C> aggregator =
                (Aggregator<K, Object, C>) dependency.aggregator().get();
        Iterator<?> combined = dependency.mapSideCombine()
                ? aggregator.combineCombinersByKey((Iterator<Product2<K, C>>) untyped, context)
                : aggregator.combineValuesByKey((Iterator<Product2<K, Object>>) untyped, context);
        return (Iterator<Product2<K, C>>) combined;
    }

    /**
     * What was combined on the map side is merged combiner by combiner; else values are combined here, or only sorted.
     */
    @SuppressWarnings("unchecked")
    private ExternalSorter<K, Object, C> sorter() {
        Option<Aggregator<K, Object, C>> aggregator = Option.empty();
        if (dependency.aggregator().isDefined()) {
            Aggregator<K, Object, C> declared =
                    (Aggregator<K, Object, C>) dependency.aggregator().get();
            aggregator = Option.apply(
                    dependency.mapSideCombine()
                            ? new Aggregator<>(
                                    combiner -> (C) combiner,
                                    (left, right) -> declared.mergeCombiners().apply(left, (C) right),
                                    declared.mergeCombiners())
                            : declared);
        }
        return spark.sorter(context, aggregator, dependency);
    }
}
