// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.slice.MemorySlice;

/**
 * Memory in which a map output collects bytes for the disk tier.
 *
 * <p><b>Threading:</b> of one thread.
 *
 * <p><b>Ownership:</b> the borrower closes it, once, and touches its memory no more.
 */
public final class OutputBuffer implements AutoCloseable {
    private final DiskTier owner;
    private final NativeBuffer buffer;
    private final MemorySlice memory;

    OutputBuffer(DiskTier owner, NativeBuffer buffer) {
        this.owner = owner;
        this.buffer = buffer;
        this.memory = new MemorySlice(buffer.address(), buffer.lengthBytes());
    }

    /** Returns the memory. */
    public MemorySlice memory() {
        return memory;
    }

    @Override
    public void close() {
        owner.returnBuffer(buffer);
    }
}
