// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.StoredSlice;
import java.io.IOException;
import java.util.List;

/**
 * Partitions of one map output where they lie: in memory mapped into this process, or in files that it has open.
 *
 * <p><b>Threading:</b> immutable.
 *
 * <p><b>Ownership:</b> owns nothing; the reader that found the bytes keeps them there.
 */
public interface StoredBytes {
    /** Returns the bytes, in order. */
    List<StoredSlice> pieces();

    /**
     * Returns whether the bytes, where they lie, are those that were written.
     *
     * @throws IOException if they lie on disk and cannot be read
     */
    boolean isIntact() throws IOException;
}
