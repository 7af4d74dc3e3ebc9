// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A bound on bytes that are being read at once.
 *
 * <p>A read larger than the bound is let through when nothing else is in flight, since otherwise it never would be.
 *
 * <p><b>Threading:</b> thread-safe, lock-free.
 */
public final class InFlightLimit {
    private final long maximumBytes;
    private final AtomicLong inFlightBytes = new AtomicLong();

    /** Bounds the bytes in flight. */
    public InFlightLimit(long maximumBytes) {
        this.maximumBytes = maximumBytes;
    }

    /** Acquires the bytes, or returns false when they do not fit now. */
    public boolean tryAcquire(long bytes) {
        while (true) {
            long current = inFlightBytes.get();
            if (current > 0 && current + bytes > maximumBytes) {
                return false;
            }
            if (inFlightBytes.compareAndSet(current, current + bytes)) {
                return true;
            }
        }
    }

    /** Counts other bytes than were taken, where it shows only afterwards how many there are. */
    public void adjust(long takenBytes, long actualBytes) {
        inFlightBytes.addAndGet(actualBytes - takenBytes);
    }

    /** Releases bytes. */
    public void release(long bytes) {
        if (inFlightBytes.addAndGet(-bytes) < 0) {
            throw new IllegalStateException("released more bytes than were in flight");
        }
    }

    /** Returns the bytes in flight now. */
    public long inFlightBytes() {
        return inFlightBytes.get();
    }
}
