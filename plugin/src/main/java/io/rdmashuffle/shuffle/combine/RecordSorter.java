// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.combine;

import io.rdmashuffle.spark.compat.Concatenation;
import java.util.Arrays;
import java.util.Comparator;
import java.util.NoSuchElementException;
import java.util.function.LongConsumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Sorter of a task's records by key in an array, while they are few. If there are more, Spark's sorter receives all
 * records; it can spill, and therefore estimates its size far more often.
 *
 * <p>Records with the same key keep their order, as with Spark's sorter while that has not spilled.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * @param <K> key
 * @param <C> value
 */
public final class RecordSorter<K, C> {
    private static final int FIRST_RECORDS = 64;

    private final Comparator<? super K> order;
    private final FreeRoom room;
    private final LongConsumer peakBytes;
    private final UnaryOperator<Iterator<Product2<K, C>>> overflow;

    /**
     * Prepares to sort.
     *
     * @param room maximum of held bytes
     * @param peakBytes receives the held bytes, if all records fit
     * @param overflow sorts all records if they have no room
     */
    public RecordSorter(
            Comparator<? super K> order,
            FreeRoom room,
            LongConsumer peakBytes,
            UnaryOperator<Iterator<Product2<K, C>>> overflow) {
        this.order = order;
        this.room = room;
        this.peakBytes = peakBytes;
        this.overflow = overflow;
    }

    /** Takes all records, and returns them sorted. */
    public Iterator<Product2<K, C>> sorted(Iterator<Product2<K, C>> records) {
        HeldBytes bytes = new HeldBytes(room);
        Held<K, C> held = new Held<>();
        while (records.hasNext()) {
            Product2<K, C> record = records.next();
            // The record itself may be one that is used again for the next.
            Tuple2<K, C> kept = new Tuple2<>(record._1(), record._2());
            held.add(kept);
            if (bytes.isTooMuchWith(held.records, kept._1(), kept._2())) {
                return overflow.apply(Concatenation.of(held, records));
            }
        }
        peakBytes.accept(bytes.bytes());
        held.sort(order);
        return held;
    }

    /** Records in an array, each of which is dereferenced when it is taken. */
    private static final class Held<K, C> extends AbstractIterator<Product2<K, C>> {
        @SuppressWarnings({"unchecked", "rawtypes"})
        private @Nullable Tuple2<K, C>[] records = new Tuple2[FIRST_RECORDS];

        private int count;
        private int taken;

        void add(Tuple2<K, C> record) {
            if (count == records.length) {
                records = Arrays.copyOf(records, 2 * count);
            }
            records[count++] = record;
        }

        void sort(Comparator<? super K> order) {
            Arrays.sort(records, 0, count, (left, right) -> order.compare(left._1(), right._1()));
        }

        @Override
        public boolean hasNext() {
            return taken < count;
        }

        @Override
        public Product2<K, C> next() {
            Tuple2<K, C> next = hasNext() ? records[taken] : null;
            if (next == null) {
                throw new NoSuchElementException("all records have been taken");
            }
            records[taken++] = null;
            return next;
        }
    }
}
