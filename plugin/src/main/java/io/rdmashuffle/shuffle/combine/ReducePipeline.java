// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.combine;

import io.rdmashuffle.spark.compat.SparkLine;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.util.CompletionIterator;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.runtime.BoxedUnit;

/**
 * Processing of fetched records as in Spark's own reader: counts them, lets the task be interrupted, combines and sorts
 * as the shuffle asks.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * @param spark makes the sorter
 * @param dependency the shuffle's
 * @param context the task's
 * @param metrics counts records
 * @param room maximum bytes of records before Spark's collections are used
 * @param <K> key
 * @param <C> combined value
 */
public record ReducePipeline<K, C>(
        SparkLine spark,
        ShuffleDependency<K, ?, C> dependency,
        TaskContext context,
        ShuffleReadMetricsReporter metrics,
        FreeRoom room) {
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
        Aggregator<K, Object, C> aggregator = aggregator();
        if (dependency.keyOrdering().isDefined()) {
            return aggregator == null
                    ? sorted((Iterator<Product2<K, C>>) untyped)
                    : sortedBySpark(aggregator, (Iterator<Product2<K, Object>>) untyped);
        }
        return aggregator == null
                ? (Iterator<Product2<K, C>>) untyped
                : new RecordCombiner<>(aggregator, room, context).combined((Iterator<Product2<K, Object>>) untyped);
    }

    /** Returns the aggregator of written records; null if there is none. */
    @SuppressWarnings("unchecked")
    private @Nullable Aggregator<K, Object, C> aggregator() {
        if (dependency.aggregator().isEmpty()) {
            return null;
        }
        Aggregator<K, Object, C> declared =
                (Aggregator<K, Object, C>) dependency.aggregator().get();
        // Combiners of the map side are merged.
        return dependency.mapSideCombine()
                ? new Aggregator<>(
                        combiner -> (C) combiner,
                        (left, right) -> declared.mergeCombiners().apply(left, (C) right),
                        declared.mergeCombiners())
                : declared;
    }

    @SuppressWarnings("unchecked") // Without an aggregator the result consists of values.
    private Iterator<Product2<K, C>> sorted(Iterator<Product2<K, C>> records) {
        return new RecordSorter<K, C>(
                        dependency.keyOrdering().get(),
                        room,
                        context.taskMetrics()::incPeakExecutionMemory,
                        all -> sortedBySpark(null, (Iterator<Product2<K, Object>>) (Iterator<?>) all))
                .sorted(records);
    }

    private Iterator<Product2<K, C>> sortedBySpark(
            @Nullable Aggregator<K, Object, C> aggregator, Iterator<Product2<K, Object>> records) {
        return spark.sorter(context, Option.apply(aggregator), dependency).insertAllAndUpdateMetrics(records);
    }
}
