// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.combine;

import io.rdmashuffle.spark.compat.Concatenation;
import java.util.NoSuchElementException;
import java.util.function.LongConsumer;
import org.apache.spark.Aggregator;
import org.apache.spark.TaskContext;
import org.apache.spark.util.collection.AppendOnlyMap;
import org.jspecify.annotations.Nullable;
import scala.Function1;
import scala.Function2;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Combiner of a task's records by key in Spark's hash map, while combiners are few. If there are more, Spark's spilling
 * map receives the combiners and the remaining records.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * @param <K> key
 * @param <V> combined type: values, or combiners
 * @param <C> combiner
 */
public final class RecordCombiner<K, V, C> {
    private static final int FIRST_KEYS = 64;

    private final Aggregator<K, V, C> aggregator;
    private final FreeRoom room;
    private final LongConsumer peakBytes;
    private final Overflow<K, C> overflow;

    /** Combiner of records beyond the limit. */
    @FunctionalInterface
    interface Overflow<K, C> {
        /** Combines all records; some of them have combiners, and the aggregator knows which. */
        Iterator<Product2<K, C>> combine(Aggregator<K, Object, C> aggregator, Iterator<Product2<K, Object>> records);
    }

    /** A combiner among values. */
    private record Combined<C>(C combiner) {}

    /** Prepares to combine within what may be held without asking, or else as Spark's aggregators do. */
    @SuppressWarnings("unchecked") // A tuple is a product.
    public RecordCombiner(Aggregator<K, V, C> aggregator, FreeRoom room, TaskContext context) {
        this(aggregator, room, context.taskMetrics()::incPeakExecutionMemory, (all, records) ->
                (Iterator<Product2<K, C>>) (Iterator<?>) all.combineValuesByKey(records, context));
    }

    RecordCombiner(Aggregator<K, V, C> aggregator, FreeRoom room, LongConsumer peakBytes, Overflow<K, C> overflow) {
        this.aggregator = aggregator;
        this.room = room;
        this.peakBytes = peakBytes;
        this.overflow = overflow;
    }

    /** Takes all records, and returns one for each key. */
    @SuppressWarnings("unchecked") // A tuple is a product.
    public Iterator<Product2<K, C>> combined(Iterator<? extends Product2<K, V>> records) {
        HeldBytes bytes = new HeldBytes(room);
        Iterator<Tuple2<K, C>> held = new LetGoAtEnd<>(held(records, bytes).iterator());
        if (bytes.isTooMuch()) {
            return overflow.combine(withCombiners(), all(held, records));
        }
        peakBytes.accept(bytes.bytes());
        return (Iterator<Product2<K, C>>) (Iterator<?>) held;
    }

    /**
     * Combines records until the end or the limit. A separate method, so that no local variable references combiners
     * after Spark's map has them: they grow there, and must be collectable once it has spilled them.
     */
    private AppendOnlyMap<K, C> held(Iterator<? extends Product2<K, V>> records, HeldBytes bytes) {
        AppendOnlyMap<K, C> held = new AppendOnlyMap<>(FIRST_KEYS);
        Update update = new Update();
        Function2<Object, C, C> function = update::apply;
        boolean isTooMuch = false;
        while (!isTooMuch && records.hasNext()) {
            Product2<K, V> record = records.next();
            update.key = record._1();
            update.value = record._2();
            held.changeValue(record._1(), function);
            isTooMuch = bytes.isTooMuchWith(held, update.key, update.value);
        }
        return held;
    }

    /** Elements of an iterator, which is dereferenced at its end. */
    private static final class LetGoAtEnd<T> extends AbstractIterator<T> {
        private @Nullable Iterator<T> left;

        LetGoAtEnd(Iterator<T> all) {
            this.left = all;
        }

        @Override
        public boolean hasNext() {
            if (left != null && !left.hasNext()) {
                left = null;
            }
            return left != null;
        }

        @Override
        public T next() {
            if (left == null) {
                throw new NoSuchElementException("all have been taken");
            }
            return left.next();
        }
    }

    /** A record for the map, and its estimated addition. */
    private final class Update {
        private final Function1<V, C> create = aggregator.createCombiner();
        private final Function2<C, V, C> merge = aggregator.mergeValue();
        private @Nullable Object key;
        private @Nullable Object value;

        @SuppressWarnings("unchecked")
        C apply(Object isKnown, C combiner) {
            if ((Boolean) isKnown) {
                key = null;
                return merge.apply(combiner, (V) value);
            }
            C created = create.apply((V) value);
            value = created;
            return created;
        }
    }

    /** A key's combiner comes before all of its values that are left. */
    @SuppressWarnings("unchecked")
    private Aggregator<K, Object, C> withCombiners() {
        Function1<V, C> create = aggregator.createCombiner();
        return new Aggregator<>(
                value -> value instanceof Combined<?> combined ? (C) combined.combiner() : create.apply((V) value),
                (Function2<C, Object, C>) (Function2<C, ?, C>) aggregator.mergeValue(),
                aggregator.mergeCombiners());
    }

    @SuppressWarnings("unchecked")
    private Iterator<Product2<K, Object>> all(Iterator<Tuple2<K, C>> held, Iterator<? extends Product2<K, V>> records) {
        Iterator<Product2<K, Object>> before = held.map(each -> new Tuple2<>(each._1(), new Combined<>(each._2())));
        return Concatenation.of(before, (Iterator<Product2<K, Object>>) (Iterator<?>) records);
    }
}
