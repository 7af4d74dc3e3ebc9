// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

/**
 * Recent time per byte written to the disk tier: little while the page cache absorbs writes, and once the kernel blocks
 * writers, the disk's time per byte multiplied by the writers that share it.
 *
 * <p>Each stage begins with free page cache and ends without, so slow writes have a high weight and fast ones a low
 * one.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class DiskPace {
    /** A thread that has lost its processor during one write, or a disk that was late with one, is not a slow disk. */
    private static final long WINDOW_BYTES = 16 << 20;

    /** Weight of a window that is slower than the average. */
    private static final double RISE = 0.25;

    /** Weight of a faster window: executors seldom write 64 windows to free page cache. */
    private static final double FALL = 1.0 / 64;

    private long windowBytes;
    private long windowNanos;
    private double nanosPerByte;

    /** Records a write. */
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
