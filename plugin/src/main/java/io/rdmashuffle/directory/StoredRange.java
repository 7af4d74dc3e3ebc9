// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.StoredSlice;
import java.io.IOException;
import java.util.List;

/**
 * Consecutive partitions of one map output, each with a checksum of its own.
 *
 * @param range lengths and checksums
 * @param pieces the bytes of its slices
 */
public record StoredRange(BlockRange range, List<StoredSlice> pieces) implements StoredBytes {
    @Override
    public boolean isIntact() throws IOException {
        return range.matches(pieces);
    }
}
