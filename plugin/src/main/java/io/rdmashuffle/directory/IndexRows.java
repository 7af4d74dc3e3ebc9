// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Consecutive rows of the index of one map output, as a reader remembers them: all rows, or the rows of one task.
 *
 * <p><b>Threading:</b> immutable.
 */
final class IndexRows {
    private static final long ROW_BYTES = Long.BYTES + Integer.BYTES;
    private static final long PIECE_BYTES = 64;
    private static final long OBJECT_BYTES = 128;

    private final DirectoryEntry entry;
    private final int first;
    /** By partition, where it starts in the pieces; and in the end, where the last one ends. */
    private final long[] starts;

    private final int[] checksums;
    private final List<RemoteSlice> pieces;

    private IndexRows(DirectoryEntry entry, int first, long[] starts, int[] checksums, List<RemoteSlice> pieces) {
        this.entry = entry;
        this.first = first;
        this.starts = starts;
        this.checksums = checksums;
        this.pieces = pieces;
    }

    /** Remembers rows of an index, from that of partition {@code first} on. */
    static IndexRows of(DirectoryEntry entry, int first, BlockRange rows) {
        long[] starts = new long[rows.lengths().length + 1];
        for (int p = 0; p < rows.lengths().length; p++) {
            starts[p + 1] = starts[p] + rows.lengths()[p];
        }
        return new IndexRows(entry, first, starts, rows.checksums(), rows.slices());
    }

    /** Returns about how many bytes of the heap an index takes. */
    static long heapBytes(int partitions, int extents) {
        return OBJECT_BYTES + ROW_BYTES * partitions + PIECE_BYTES * extents;
    }

    long heapBytes() {
        return heapBytes(checksums.length, pieces.size());
    }

    /** Returns whether this is the index of which an entry tells: an output that moved has another one. */
    boolean isOf(DirectoryEntry told) {
        return entry.equals(told);
    }

    /** Returns whether it has the rows of partitions {@code [start, end)}. */
    boolean has(int start, int end) {
        return first <= start && end <= first + checksums.length;
    }

    /** Returns the range of partitions {@code [start, end)}, whose rows it must have. */
    BlockRange range(int start, int end) {
        int from = start - first;
        int to = end - first;
        long[] lengths = new long[to - from];
        for (int p = from; p < to; p++) {
            lengths[p - from] = starts[p + 1] - starts[p];
        }
        return new BlockRange(slices(starts[from], starts[to]), lengths, Arrays.copyOfRange(checksums, from, to));
    }

    private List<RemoteSlice> slices(long from, long to) {
        if (pieces.size() == 1 && from < to) {
            RemoteSlice all = pieces.get(0);
            return List.of(new RemoteSlice(all.regionId(), all.offset() + from, to - from));
        }
        List<RemoteSlice> cut = new ArrayList<>(1);
        long pieceStart = 0;
        for (RemoteSlice piece : pieces) {
            long cutStart = Math.max(pieceStart, from);
            long cutEnd = Math.min(pieceStart + piece.lengthBytes(), to);
            if (cutStart < cutEnd) {
                cut.add(new RemoteSlice(piece.regionId(), piece.offset() + cutStart - pieceStart, cutEnd - cutStart));
            }
            pieceStart += piece.lengthBytes();
        }
        return cut;
    }
}
