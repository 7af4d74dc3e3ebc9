// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.memory.MemorySlice;

/**
 * A peer's bytes, readable in this process until {@link #close()}.
 *
 * <p>The peer may free and reuse the bytes at any time: what counts is checked by checksum after reading.
 *
 * <p><b>Ownership:</b> the caller closes it, once.
 */
public interface RemoteView extends AutoCloseable {
    /** Returns the bytes; they must not be written. */
    MemorySlice memory();

    @Override
    void close();
}
