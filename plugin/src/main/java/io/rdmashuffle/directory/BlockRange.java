// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.util.List;

/**
 * Consecutive partitions of one map output: which slices hold them, how long each is, and their checksums.
 *
 * <p><b>Threading:</b> immutable; the arrays are not copied and must not be written.
 *
 * @param slices in order; empty if all the partitions are
 * @param lengths bytes by partition
 * @param checksums CRC-32C by partition
 */
@SuppressWarnings("ArrayRecordComponent")
public record BlockRange(List<RemoteSlice> slices, long[] lengths, int[] checksums) {
    /** Returns the range of partitions without a byte, whose checksums are those of nothing: 0. */
    static BlockRange empty(int partitions) {
        return new BlockRange(List.of(), new long[partitions], new int[partitions]);
    }

    /** Returns the bytes of all partitions. */
    public long lengthBytes() {
        return slices.stream().mapToLong(RemoteSlice::lengthBytes).sum();
    }

    /** Returns whether bytes read for these slices are what the writer wrote. */
    public boolean matches(List<StoredSlice> bytes) throws IOException {
        SliceCursor cursor = new SliceCursor(bytes);
        long left = bytes.stream().mapToLong(StoredSlice::lengthBytes).sum();
        for (int p = 0; p < lengths.length; p++) {
            if (lengths[p] > left) {
                return false;
            }
            left -= lengths[p];
            if (Crc32c.of(cursor.take(lengths[p])) != checksums[p]) {
                return false;
            }
        }
        return left == 0;
    }
}
