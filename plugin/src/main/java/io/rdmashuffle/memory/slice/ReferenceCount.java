// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs an action once, when the owner has closed and every reference has been released.
 *
 * <p><b>Threading:</b> thread-safe and lock-free; the action runs on the thread that releases last.
 */
public final class ReferenceCount implements AutoCloseable {
    private final Runnable onLast;
    private final AtomicInteger count = new AtomicInteger(1);
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Starts with the owner's reference, which {@link #close()} gives up. */
    public ReferenceCount(Runnable onLast) {
        this.onLast = onLast;
    }

    /** Takes a reference; false when the last one is already gone. */
    public boolean retain() {
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

    /** Gives one reference back. */
    public void release() {
        int left = count.decrementAndGet();
        if (left < 0) {
            count.incrementAndGet();
            throw new IllegalStateException("released more often than retained");
        }
        if (left == 0) {
            onLast.run();
        }
    }

    /** Gives up the owner's reference; later calls do nothing. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            release();
        }
    }
}
