// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import io.rdmashuffle.ffi.NativeBuffer;
import java.lang.ref.Cleaner;

/**
 * A little memory outside the heap for each thread that reads files into arrays.
 *
 * <p><b>Ownership:</b> of its thread; freed after the thread has ended.
 */
final class ThreadScratch {
    /** Longer than most blocks; longer ones are read in pieces. */
    private static final long SCRATCH_BYTES = 64 << 10;

    private static final Cleaner CLEANER = Cleaner.create();
    private static final ThreadLocal<ThreadScratch> SCRATCH = ThreadLocal.withInitial(ThreadScratch::new);

    private final MemorySlice memory;

    private ThreadScratch() {
        NativeBuffer buffer = new NativeBuffer(SCRATCH_BYTES);
        this.memory = new MemorySlice(buffer.address(), SCRATCH_BYTES);
        // No device ever sees this memory, and no other thread uses it.
        CLEANER.register(this, buffer::close);
    }

    /** Returns the memory of the current thread; valid until its next call. */
    static MemorySlice memory() {
        return SCRATCH.get().memory;
    }
}
