// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.RemoteSlice;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

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
        long[] lengths = new long[PARTITIONS];
        BlockRange all = new BlockRange(List.of(new RemoteSlice(0, 0, PARTITIONS)), lengths, new int[PARTITIONS]);
        cache.put(of, shuffleId, entry, IndexRows.of(entry, all));
    }

    @Test
    void theOneThatWasUsedLongestAgoGoesFirst() {
        for (int map = 0; map < 3; map++) {
            put(directory, 1, entry(map, 0));
        }
        assertThat(cache.get(directory, 1, entry(0, 0))).isNotNull();
        put(directory, 1, entry(3, 0));
        assertThat(cache.bytes()).isEqualTo(3 * ONE);
        assertThat(cache.get(directory, 1, entry(1, 0))).isNull();
        for (int map : new int[] {0, 2, 3}) {
            assertThat(cache.get(directory, 1, entry(map, 0))).isNotNull();
        }
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
        BlockRange all =
                new BlockRange(List.of(new RemoteSlice(0, 0, PARTITIONS)), new long[PARTITIONS], new int[PARTITIONS]);
        none.put(directory, 1, entry(5, 0), IndexRows.of(entry(5, 0), all));
        assertThat(none.bytes()).isZero();
    }
}
