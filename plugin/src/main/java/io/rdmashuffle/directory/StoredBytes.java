// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.MemorySlice;
import java.util.List;

/**
 * Partitions of one map output where they lie in memory mapped into this process.
 *
 * <p><b>Threading:</b> immutable.
 *
 * <p><b>Ownership:</b> owns nothing; the reader that found the bytes keeps their memory mapped.
 */
public interface StoredBytes {
    /** Returns the bytes, in order. */
    List<MemorySlice> pieces();

    /** Returns whether the bytes, where they lie, are those that were written. */
    boolean isIntact();
}
