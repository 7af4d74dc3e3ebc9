// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.combine;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.spark.compat.Concatenation;
import io.rdmashuffle.spark.compat.ScalaCollections;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

@Tag("unit")
class RecordSorterTest {
    private static final FreeRoom ROOM = new FreeRoom(5 << 20, Integer.MAX_VALUE);

    private final List<Product2<String, Integer>> overflown = new ArrayList<>();
    private long peakBytes;

    @Test
    void sortsByKeyAndKeepsTheOrderOfEqualKeys() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        List<Product2<String, Integer>> records = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            records.add(new Tuple2<>("k" + random.nextInt(1_000), i));
        }

        List<Product2<String, Integer>> sorted = sort(records, ROOM);

        records.sort(Comparator.comparing(Product2::_1));
        assertThat(sorted).as("seed %d", seed).isEqualTo(records);
        assertThat(overflown).isEmpty();
        // A tuple, a text of five characters and a boxed number.
        assertThat(peakBytes).isBetween(10_000 * 80L, 10_000 * 160L);
    }

    @Test
    void nothingIsSortedToNothing() {
        assertThat(sort(List.of(), ROOM)).isEmpty();
        assertThat(peakBytes).isZero();
    }

    @Test
    void aRecordThatIsUsedAgainIsNotKept() {
        Iterator<Product2<String, Integer>> reusing = new AbstractIterator<>() {
            private final Pair record = new Pair();

            @Override
            public boolean hasNext() {
                return record.value < 100;
            }

            @Override
            public Product2<String, Integer> next() {
                record.value++;
                return record;
            }
        };
        assertThat(ScalaCollections.list(sorter(ROOM).sorted(reusing)))
                .extracting(Product2::_2)
                .containsExactlyElementsOf(IntStream.rangeClosed(1, 100).boxed().toList());
    }

    @Test
    void moreThanHasRoomGoesToSparkInTheOrderInWhichItCame() {
        List<Product2<String, Integer>> records = numbered(200_000);
        assertThat(sort(records, ROOM)).isEqualTo(records);
        assertThat(overflown).isEqualTo(records);
        assertThat(peakBytes).isZero();
    }

    @Test
    void moreRecordsThanAllowedGoToSpark() {
        List<Product2<String, Integer>> records = numbered(101);
        sort(records, new FreeRoom(5 << 20, 101));
        assertThat(overflown).isEmpty();
        sort(records, new FreeRoom(5 << 20, 100));
        assertThat(overflown).isEqualTo(records);
    }

    @Test
    void withoutRoomAllGoesToSpark() {
        List<Product2<String, Integer>> records = numbered(10);
        sort(records, new FreeRoom(0, Integer.MAX_VALUE));
        assertThat(overflown).isEqualTo(records);
    }

    /** Thousands of small records must not hide that those after them are large. */
    @Test
    void recordsThatBecomeLargerAreNoticedSoon() {
        List<Product2<String, Integer>> small = numbered(9_000);
        List<Integer> made = new ArrayList<>();
        Iterator<Product2<String, Integer>> large = new AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                return made.size() < 1_000;
            }

            @Override
            public Product2<String, Integer> next() {
                made.add(made.size());
                return new Tuple2<>("x".repeat(1 << 20), made.size());
            }
        };
        RecordSorter<String, Integer> sorter = new RecordSorter<>(
                Comparator.naturalOrder(),
                ROOM,
                bytes -> peakBytes = bytes,
                all -> ScalaCollections.iterator(
                        List.<Product2<String, Integer>>of().iterator()));

        sorter.sorted(Concatenation.of(ScalaCollections.iterator(small.iterator()), large));

        assertThat(made).hasSizeLessThanOrEqualTo(32);
    }

    private List<Product2<String, Integer>> sort(List<Product2<String, Integer>> records, FreeRoom room) {
        overflown.clear();
        return ScalaCollections.list(sorter(room).sorted(ScalaCollections.iterator(records.iterator())));
    }

    /** Overflow records are kept and returned in order. */
    private RecordSorter<String, Integer> sorter(FreeRoom room) {
        return new RecordSorter<>(Comparator.naturalOrder(), room, bytes -> peakBytes = bytes, all -> {
            overflown.addAll(ScalaCollections.list(all));
            return ScalaCollections.iterator(overflown.iterator());
        });
    }

    /** From the last key to the first. */
    private static List<Product2<String, Integer>> numbered(int count) {
        List<Product2<String, Integer>> records = new ArrayList<>();
        for (int i = count; i > 0; i--) {
            records.add(new Tuple2<>("k" + i, i));
        }
        return records;
    }

    /** A record that its maker changes. */
    private static final class Pair implements Product2<String, Integer> {
        private int value;

        @Override
        public String _1() {
            return "same";
        }

        @Override
        public Integer _2() {
            return value;
        }

        @Override
        public boolean canEqual(Object that) {
            return that instanceof Pair;
        }
    }
}
