// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.memory.slice.StoredSlice;

/**
 * A peer's bytes, readable in this process until {@link #close()}.
 *
 * <p>The peer may free and reuse the bytes at any time: what counts is checked by checksum after reading.
 *
 * <p><b>Ownership:</b> the caller closes it, once.
 */
public interface RemoteView extends AutoCloseable {
    /** Returns the bytes, in memory or, for the disk tier, in a file; they must not be written. */
    StoredSlice bytes();

    @Override
    void close();
}
