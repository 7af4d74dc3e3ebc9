// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The whole index of one map output, as a reader remembers it.
 *
 * <p><b>Threading:</b> immutable.
 */
final class IndexRows {
    private static final long ROW_BYTES = Long.BYTES + Integer.BYTES;
    private static final long PIECE_BYTES = 64;
    private static final long OBJECT_BYTES = 128;

    private final DirectoryEntry entry;
    /** By partition, where it starts in the output's data; and in the end, where that ends. */
    private final long[] starts;

    private final int[] checksums;
    private final List<RemoteSlice> pieces;

    private IndexRows(DirectoryEntry entry, long[] starts, int[] checksums, List<RemoteSlice> pieces) {
        this.entry = entry;
        this.starts = starts;
        this.checksums = checksums;
        this.pieces = pieces;
    }

    /** Copies all rows of an index. */
    static IndexRows of(DirectoryEntry entry, BlockRange all) {
        long[] starts = new long[all.lengths().length + 1];
        for (int p = 0; p < all.lengths().length; p++) {
            starts[p + 1] = starts[p] + all.lengths()[p];
        }
        return new IndexRows(entry, starts, all.checksums(), all.slices());
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

    /** Returns the range of partitions {@code [start, end)}, which the output must have. */
    BlockRange range(int start, int end) {
        long[] lengths = new long[end - start];
        for (int p = start; p < end; p++) {
            lengths[p - start] = starts[p + 1] - starts[p];
        }
        return new BlockRange(slices(starts[start], starts[end]), lengths, Arrays.copyOfRange(checksums, start, end));
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
