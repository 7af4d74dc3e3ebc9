// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.combine;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.spark.compat.ScalaCollections;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.Aggregator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;

@Tag("unit")
class RecordCombinerTest {
    private static final FreeRoom ROOM = new FreeRoom(5 << 20, Integer.MAX_VALUE);

    /** Lists of values, which grow in place as Spark's buffers do. */
    private static final Aggregator<String, Integer, List<Integer>> LISTS = new Aggregator<>(
            value -> new ArrayList<>(List.of(value)),
            (list, value) -> {
                list.add(value);
                return list;
            },
            (left, right) -> {
                left.addAll(right);
                return left;
            });

    private final List<Product2<String, Object>> overflown = new ArrayList<>();
    private long peakBytes;

    @Test
    void eachKeyHasAllItsValuesInOrder() {
        long seed = new Random().nextLong();
        List<Product2<String, Integer>> records = random(new Random(seed), 10_000, 300);

        assertThat(combine(records, ROOM)).as("seed %d", seed).isEqualTo(expected(records));
        assertThat(overflown).isEmpty();
        assertThat(peakBytes).isBetween(10_000 * 16L, 10_000 * 64L);
    }

    @Test
    void nothingIsCombinedToNothing() {
        assertThat(combine(List.of(), ROOM)).isEmpty();
        assertThat(peakBytes).isZero();
    }

    @Test
    void theNullKeyIsAKey() {
        List<Product2<String, Integer>> records = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            records.add(new Tuple2<@Nullable String, Integer>(i % 2 == 0 ? null : "odd", i));
        }
        assertThat(combine(records, ROOM)).isEqualTo(expected(records)).containsKey(null);
    }

    @Test
    void failedInsertLeavesTheRecordInPlace() {
        long seed = new Random().nextLong();
        List<Product2<String, Integer>> records = random(new Random(seed), 200_000, 50_000);

        assertThat(combine(records, ROOM)).as("seed %d", seed).isEqualTo(expected(records));
        assertThat(overflown).as("combiners, and then values").hasSizeBetween(100_000, 199_999);
    }

    @Test
    void moreRecordsThanAllowedGoToSpark() {
        List<Product2<String, Integer>> records = random(new Random(1), 1_000, 10);
        combine(records, new FreeRoom(5 << 20, 1_000));
        assertThat(overflown).isEmpty();
        assertThat(combine(records, new FreeRoom(5 << 20, 999))).isEqualTo(expected(records));
        assertThat(overflown).as("a combiner of each key").hasSize(10);
    }

    /** Few keys, whose combiners reach the limit. */
    @Test
    void combinersThatGrowAreNoticed() {
        List<Product2<String, Integer>> records = random(new Random(2), 1_000_000, 3);
        assertThat(combine(records, ROOM)).isEqualTo(expected(records));
        // A boxed number in a list has 20 bytes or more, and at most half of the list is empty.
        assertThat(overflown).hasSizeBetween(1_000_000 - (8 << 20) / 20, 999_999);
    }

    /** Spark's map grows the combiners that it gets, and counts on their memory when it has spilled them. */
    @Test
    void passedRecordsAreReleased() {
        List<Product2<String, Integer>> records = random(new Random(3), 1_000, 10);
        List<WeakReference<Object>> combiners = new ArrayList<>();
        RecordCombiner<String, Integer, List<Integer>> combiner =
                new RecordCombiner<>(LISTS, new FreeRoom(5 << 20, 500), bytes -> {}, (aggregator, all) -> {
                    while (combiners.size() <= 10) {
                        combiners.add(new WeakReference<>(
                                aggregator.createCombiner().apply(all.next()._2())));
                    }
                    assertThat(all.hasNext()).as("records are left").isTrue();
                    combiners.subList(0, 10).forEach(RecordCombinerTest::awaitCollected);
                    return ScalaCollections.iterator(Collections.emptyIterator());
                });
        combiner.combined(ScalaCollections.iterator(records.iterator()));
        assertThat(combiners).hasSize(11);
    }

    private static void awaitCollected(WeakReference<Object> reference) {
        long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (reference.get() != null && System.nanoTime() < deadline) {
            System.gc();
        }
        assertThat(reference.get()).isNull();
    }

    @Test
    void combinersAreMergedAsValues() {
        Aggregator<String, Object, List<Integer>> merging = new Aggregator<>(
                combiner -> castList(combiner),
                (left, right) -> LISTS.mergeCombiners().apply(left, castList(right)),
                LISTS.mergeCombiners());
        List<Product2<String, Object>> records = new ArrayList<>();
        Map<String, List<Integer>> expected = new HashMap<>();
        for (int i = 0; i < 1_000; i++) {
            records.add(new Tuple2<>("k" + i % 10, new ArrayList<>(List.of(i, -i))));
            expected.computeIfAbsent("k" + i % 10, key -> new ArrayList<>()).addAll(List.of(i, -i));
        }
        for (int room : new int[] {Integer.MAX_VALUE, 500}) {
            RecordCombiner<String, Object, List<Integer>> combiner = new RecordCombiner<>(
                    merging, new FreeRoom(5 << 20, room), bytes -> peakBytes = bytes, this::combineElsewhere);
            List<Product2<String, Object>> copies = records.stream()
                    .<Product2<String, Object>>map(
                            each -> new Tuple2<>(each._1(), new ArrayList<>(castList(each._2()))))
                    .toList();
            assertThat(map(combiner.combined(ScalaCollections.iterator(copies.iterator()))))
                    .isEqualTo(expected);
        }
        assertThat(overflown).as("ten combiners that were merged, and the rest").hasSize(10 + 499);
    }

    @SuppressWarnings("unchecked")
    private static List<Integer> castList(Object combiner) {
        return (List<Integer>) combiner;
    }

    private Map<String, List<Integer>> combine(List<Product2<String, Integer>> records, FreeRoom room) {
        overflown.clear();
        RecordCombiner<String, Integer, List<Integer>> combiner =
                new RecordCombiner<>(LISTS, room, bytes -> peakBytes = bytes, this::combineElsewhere);
        return map(combiner.combined(ScalaCollections.iterator(records.iterator())));
    }

    /** As Spark does, which may also merge combiners that it had to spill. */
    private Iterator<Product2<String, List<Integer>>> combineElsewhere(
            Aggregator<String, Object, List<Integer>> aggregator, Iterator<Product2<String, Object>> records) {
        overflown.addAll(ScalaCollections.list(records));
        Map<String, List<Integer>> combined = new HashMap<>();
        for (Product2<String, Object> record : overflown) {
            List<Integer> before = combined.get(record._1());
            combined.put(
                    record._1(),
                    before == null
                            ? aggregator.createCombiner().apply(record._2())
                            : aggregator.mergeValue().apply(before, record._2()));
        }
        List<Product2<String, List<Integer>>> result = new ArrayList<>();
        combined.forEach((key, value) -> result.add(new Tuple2<>(key, value)));
        return ScalaCollections.iterator(result.iterator());
    }

    private static Map<String, List<Integer>> map(Iterator<Product2<String, List<Integer>>> records) {
        Map<String, List<Integer>> map = new HashMap<>();
        for (Product2<String, List<Integer>> record : ScalaCollections.list(records)) {
            assertThat(map.put(record._1(), record._2()))
                    .as("key %s", record._1())
                    .isNull();
        }
        return map;
    }

    private static Map<String, List<Integer>> expected(List<Product2<String, Integer>> records) {
        Map<String, List<Integer>> map = new HashMap<>();
        records.forEach(record ->
                map.computeIfAbsent(record._1(), key -> new ArrayList<>()).add(record._2()));
        return map;
    }

    private static List<Product2<String, Integer>> random(Random random, int count, int keys) {
        List<Product2<String, Integer>> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add(new Tuple2<>("k" + random.nextInt(keys), i));
        }
        return records;
    }
}
