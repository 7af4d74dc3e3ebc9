// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.RemoteSlice;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("unit")
class IndexCacheTest {
    private static final int PARTITIONS = 10;
    private static final long ONE = IndexRows.heapBytes(PARTITIONS, 1);

    private final Object directory = new Object();
    private final IndexCache cache = new IndexCache(3 * ONE);

    private static DirectoryEntry entry(long mapId, long offset) {
        return new DirectoryEntry(mapId, Place.POOL, PARTITIONS, 1, 0, offset, 0, 0, PARTITIONS);
    }

    private void put(Object of, int shuffleId, DirectoryEntry entry) {
        put(cache, of, shuffleId, entry);
    }

    private static void put(IndexCache into, Object of, int shuffleId, DirectoryEntry entry) {
        BlockRange all =
                new BlockRange(List.of(new RemoteSlice(0, 0, PARTITIONS)), new long[PARTITIONS], new int[PARTITIONS]);
        into.put(of, shuffleId, entry, IndexRows.of(entry, 0, all));
    }

    /** Has a task need a row of each index, as a reader does; returns the share of hits. */
    private static double pass(IndexCache through, Object of, int shuffleId, int maps) {
        int hits = 0;
        for (int map = 0; map < maps; map++) {
            DirectoryEntry entry = entry(map, 0);
            if (through.get(of, shuffleId, entry) != null) {
                hits++;
            } else if (through.wants(entry)) {
                put(through, of, shuffleId, entry);
            }
        }
        return hits / (double) maps;
    }

    /** LRU has no hit at all when the cache is a little smaller than what every task passes over. */
    @ParameterizedTest
    @CsvSource({"0.95, 0.96", "1.0, 0.96", "1.05, 0.85", "1.5, 0.55", "2.0, 0.4"})
    void hitsFallInProportion(double workingSet, double leastHits) {
        int room = 2000;
        IndexCache small = new IndexCache(room * ONE);
        double hits = 0;
        for (int task = 0; task < 60; task++) {
            double ofTask = pass(small, directory, 1, (int) (room * workingSet));
            hits += task < 20 ? 0 : ofTask / 40;
        }
        assertThat(hits).isGreaterThanOrEqualTo(leastHits);
        assertThat(small.bytes()).isLessThanOrEqualTo(room * ONE);
    }

    /** A job may leave shuffles behind that Spark removes hours later. */
    @Test
    void shufflesThatAreNoLongerReadGiveWay() {
        int room = 1000;
        IndexCache small = new IndexCache(room * ONE);
        for (int task = 0; task < 3; task++) {
            pass(small, directory, 1, room);
        }
        for (int task = 0; task < 4; task++) {
            pass(small, directory, 2, room);
        }
        assertThat(pass(small, directory, 2, room)).isOne();
    }

    @Test
    void removalKeepsOtherShufflesAndDirectories() {
        int peers = 1000;
        IndexCache large = new IndexCache(Long.MAX_VALUE);
        List<Object> directories =
                IntStream.range(0, peers).mapToObj(peer -> new Object()).toList();
        for (Object each : directories) {
            for (int map = 0; map < 10; map++) {
                put(large, each, 1, entry(map, 0));
                put(large, each, 2, entry(map, 0));
            }
        }
        directories.forEach(each -> large.forget(each, 1));
        assertThat(large.bytes()).isEqualTo(10L * peers * ONE);
        assertThat(large.get(directories.get(7), 2, entry(3, 0))).isNotNull();
        directories.forEach(large::forget);
        assertThat(large.bytes()).isZero();
    }

    @Test
    void indexesAreReadWholeWhereAnExecutorNeedsManyOfTheirRows() {
        DirectoryEntry index = new DirectoryEntry(1, Place.POOL, 4000, 1, 0, 0, 0, 0, 4000);
        DirectoryEntry short1 = new DirectoryEntry(1, Place.POOL, 40, 1, 0, 0, 0, 0, 40);
        DirectoryEntry huge = new DirectoryEntry(1, Place.POOL, 40_000, 1, 0, 0, 0, 0, 40_000);
        IndexCache few = new IndexCache(1 << 20, () -> 16);
        IndexCache many = new IndexCache(1 << 20, () -> 17);
        assertThat(few.wants(index)).isTrue();
        assertThat(many.wants(index)).isFalse();
        assertThat(many.wants(short1)).isTrue();
        assertThat(few.wants(huge)).isFalse();
    }

    @Test
    void anOutputThatMovedHasAnotherIndex() {
        put(directory, 1, entry(5, 0));
        assertThat(cache.get(directory, 1, entry(5, 64))).isNull();
        put(directory, 1, entry(5, 64));
        assertThat(cache.get(directory, 1, entry(5, 64))).isNotNull();
        assertThat(cache.bytes()).isEqualTo(ONE);
    }

    @Test
    void directoriesAndShufflesAreForgottenByThemselves() {
        Object other = new Object();
        put(directory, 1, entry(5, 0));
        put(directory, 2, entry(5, 0));
        put(other, 1, entry(5, 0));
        cache.forget(directory, 1);
        assertThat(cache.get(directory, 1, entry(5, 0))).isNull();
        assertThat(cache.get(directory, 2, entry(5, 0))).isNotNull();
        cache.forget(directory);
        assertThat(cache.get(other, 1, entry(5, 0))).isNotNull();
        assertThat(cache.bytes()).isEqualTo(ONE);
        cache.forget(other);
        assertThat(cache.bytes()).isZero();
    }

    @Test
    void anIndexLargerThanTheCacheIsNotKept() {
        IndexCache none = new IndexCache(ONE - 1);
        for (int i = 0; i < 100; i++) {
            assertThat(none.wants(entry(5, 0))).isFalse();
        }
        put(none, directory, 1, entry(5, 0));
        assertThat(none.bytes()).isZero();
    }
}
