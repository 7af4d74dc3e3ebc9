// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.util.List;

/**
 * Consecutive partitions of one map output, each with a checksum of its own.
 *
 * @param range lengths and checksums
 * @param pieces the bytes of its slices
 */
public record StoredRange(BlockRange range, List<StoredSlice> pieces) {
    /**
     * Returns whether the bytes, read where they lie, have the checksum of the written ones.
     *
     * @throws IOException if they lie on disk and cannot be read
     */
    public boolean isIntact() throws IOException {
        return range.matches(pieces);
    }
}
