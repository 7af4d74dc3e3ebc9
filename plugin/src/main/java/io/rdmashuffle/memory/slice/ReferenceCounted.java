// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Base of resources that several users share: freed once, when the owner has closed it and every reference has been
 * released.
 *
 * <p><b>Threading:</b> thread-safe and lock-free; it is freed on the thread that releases last.
 *
 * <p><b>Ownership:</b> the creator holds the first reference and gives it up with {@link #close()}; every
 * {@link #retain()} that returned true is paired with one {@link #release()}.
 */
public abstract class ReferenceCounted implements AutoCloseable {
    private final AtomicInteger count = new AtomicInteger(1);
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Frees the resource; no user is left. */
    protected abstract void free();

    /** Acquires a reference; false when the last one is already gone, and then nothing shared may be touched. */
    public final boolean retain() {
        while (true) {
            int current = count.get();
            if (current == 0) {
                return false;
            }
            if (count.compareAndSet(current, current + 1)) {
                return true;
            }
        }
    }

    /** Releases one reference. */
    public final void release() {
        int left = count.decrementAndGet();
        if (left < 0) {
            count.incrementAndGet();
            throw new IllegalStateException("released more often than retained");
        }
        if (left == 0) {
            free();
        }
    }

    /** Abandons the creator's reference; later calls do nothing. */
    @Override
    public final void close() {
        if (closed.compareAndSet(false, true)) {
            release();
        }
    }
}
