// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

/**
 * What a byte has cost those who wrote it to the disk tier lately: little while the page cache takes it, and once the
 * kernel makes writers wait, what the disk needs for it, times the writers that share the disk.
 *
 * <p>A disk that limits does so by turns: a stage begins with room in the page cache and ends without. So waiting is
 * believed soon and forgotten slowly.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class DiskPace {
    /** A thread that has lost its processor during one write, or a disk that was late with one, is not a slow disk. */
    private static final long WINDOW_BYTES = 16 << 20;

    /** What a window that is slower than the average weighs. */
    private static final double RISE = 0.25;

    /** What a faster one weighs: 64 windows are more than an executor often writes while the page cache takes it. */
    private static final double FALL = 1.0 / 64;

    private long windowBytes;
    private long windowNanos;
    private double nanosPerByte;

    /** Takes note of a write. */
    public synchronized void wrote(long bytes, long nanos) {
        windowBytes += bytes;
        windowNanos += nanos;
        if (windowBytes >= WINDOW_BYTES) {
            double difference = (double) windowNanos / windowBytes - nanosPerByte;
            nanosPerByte += difference * (difference > 0 ? RISE : FALL);
            windowBytes = 0;
            windowNanos = 0;
        }
    }

    /** Returns the average of the latest writes; 0 before the first. */
    public synchronized double nanosPerByte() {
        return nanosPerByte;
    }
}
