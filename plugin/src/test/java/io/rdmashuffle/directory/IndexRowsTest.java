// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.RemoteSlice;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that cached rows equal those of the index. */
@Tag("unit")
@Timeout(60)
class IndexRowsTest {
    private static final long[] LENGTHS = {10, 0, 30, 5, 0};
    private static final int[] CHECKSUMS = {1, 0, 3, 4, 0};

    private static DirectoryEntry entry(long offset) {
        return new DirectoryEntry(7, Place.POOL, LENGTHS.length, 1, 0, offset, 0, 0, 45);
    }

    private static IndexRows rows(RemoteSlice... pieces) {
        return IndexRows.of(entry(0), 0, new BlockRange(List.of(pieces), LENGTHS, CHECKSUMS));
    }

    private static RemoteSlice slice(int region, long offset, long length) {
        return new RemoteSlice(region, offset, length);
    }

    @Test
    void ofOnePieceAPartIsCut() {
        IndexRows rows = rows(slice(4, 1000, 45));
        assertThat(rows.range(0, 5).slices()).containsExactly(slice(4, 1000, 45));
        assertThat(rows.range(2, 4).slices()).containsExactly(slice(4, 1010, 35));
        assertThat(rows.range(3, 5).slices()).containsExactly(slice(4, 1040, 5));
    }

    @Test
    void ofSeveralPiecesThoseAreCutThatHoldSomething() {
        IndexRows rows = rows(slice(4, 1000, 10), slice(5, 2000, 12), slice(4, 3000, 23));
        assertThat(rows.range(0, 1).slices()).containsExactly(slice(4, 1000, 10));
        assertThat(rows.range(0, 5).slices())
                .containsExactly(slice(4, 1000, 10), slice(5, 2000, 12), slice(4, 3000, 23));
        assertThat(rows.range(2, 3).slices()).containsExactly(slice(5, 2000, 12), slice(4, 3000, 18));
        assertThat(rows.range(3, 4).slices()).containsExactly(slice(4, 3018, 5));
    }

    @Test
    void emptyPartitionsHaveNoPlace() {
        assertThat(rows(slice(4, 1000, 45)).range(1, 2).slices()).isEmpty();
        assertThat(rows(slice(4, 1000, 45)).range(4, 5).slices()).isEmpty();
        assertThat(rows(slice(4, 1000, 10), slice(5, 2000, 35)).range(1, 2).slices())
                .isEmpty();
    }

    @Test
    void lengthsAndChecksumsAreThoseOfThePartitions() {
        BlockRange range = rows(slice(4, 1000, 45)).range(1, 4);
        assertThat(range.lengths()).containsExactly(0, 30, 5);
        assertThat(range.checksums()).containsExactly(0, 3, 4);
    }

    @Test
    void isTheIndexOfItsEntryAlone() {
        IndexRows rows = rows(slice(4, 1000, 45));
        assertThat(rows.isOf(entry(0))).isTrue();
        assertThat(rows.isOf(entry(64))).isFalse();
    }

    @Test
    void takesTheHeapOfItsRowsAndPieces() {
        IndexRows one = rows(slice(4, 1000, 45));
        IndexRows two = rows(slice(4, 1000, 10), slice(5, 2000, 35));
        assertThat(one.heapBytes()).isEqualTo(IndexRows.heapBytes(5, 1)).isGreaterThan(5 * (8 + 4));
        assertThat(two.heapBytes()).isGreaterThan(one.heapBytes());
        assertThat(IndexRows.heapBytes(1000, 1) - IndexRows.heapBytes(0, 1)).isEqualTo(12_000);
    }

    @Test
    void rowsOfATaskBeginAtTheirPartition() {
        BlockRange part = rows(slice(4, 1000, 45)).range(2, 5);
        IndexRows rows = IndexRows.of(entry(0), 2, part);
        assertThat(rows.has(2, 5)).isTrue();
        assertThat(rows.has(1, 3)).isFalse();
        assertThat(rows.has(4, 6)).isFalse();
        assertThat(rows.range(2, 4).slices()).containsExactly(slice(4, 1010, 35));
        assertThat(rows.range(3, 5).lengths()).containsExactly(5, 0);
        assertThat(rows.range(3, 5).checksums()).containsExactly(4, 0);
        assertThat(rows.range(3, 5).slices()).containsExactly(slice(4, 1040, 5));
    }
}
