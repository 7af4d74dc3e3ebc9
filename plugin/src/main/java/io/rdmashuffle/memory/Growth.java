// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * State of background pool growth: current attempt, its deadline, and the next retry after a failure. How far it may
 * grow is {@link RegionFactory}'s.
 *
 * <p><b>Threading:</b> none; the {@link Pool}'s lock guards it.
 */
final class Growth {
    /**
     * Lowest expected rate of growth: pages are cleared at several GB/s and pinned at about one, and hosts
     * are busy. A region of 256 MB took 50 to 100 ms. Growth that takes longer is not waited for.
     */
    private static final long BYTES_PER_SECOND = 256 << 20;

    private static final long MIN_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** A full file system rarely has room again at once, and asking costs a system call under load. */
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final ThreadFactory threads;
    private boolean underWay;
    private boolean failed;
    private long expectedByNanos = System.nanoTime();
    private long refusedUntilNanos = System.nanoTime();

    /** Starts with none under way; the first one starts a thread. */
    Growth(ThreadFactory threads) {
        this.threads = threads;
    }

    boolean isUnderWay() {
        return underWay;
    }

    /** Returns whether a region of {@code bytes}, more than 0, may be requested now. */
    boolean mayBegin(long bytes) {
        return !underWay && bytes > 0 && System.nanoTime() - refusedUntilNanos >= 0;
    }

    /**
     * Starts a thread that grows the pool by {@code bytes} and ends with {@link #succeed()} or {@link #fail()}. The
     * system's limit of threads is a failure, although Java reports it as an {@code OutOfMemoryError}.
     *
     * @return whether a thread was started
     */
    boolean begin(long bytes, Runnable grow) {
        try {
            threads.newThread(grow).start();
        } catch (OutOfMemoryError e) {
            fail();
            return false;
        }
        long expectedNanos = bytes / BYTES_PER_SECOND * TimeUnit.SECONDS.toNanos(1);
        underWay = true;
        expectedByNanos = System.nanoTime() + Math.min(Math.max(expectedNanos, MIN_WAIT_NANOS), MAX_WAIT_NANOS);
        return true;
    }

    /** Returns the {@link System#nanoTime()} until which waiting for the current growth is worthwhile. */
    long expectedByNanos() {
        return expectedByNanos;
    }

    void succeed() {
        underWay = false;
        failed = false;
    }

    void fail() {
        underWay = false;
        failed = true;
        refusedUntilNanos = System.nanoTime() + RETRY_NANOS;
    }

    /** Records that the host has more room than when the pool could not grow. */
    void forgetFailure() {
        failed = false;
        refusedUntilNanos = System.nanoTime();
    }

    /** Returns whether the last attempt failed. */
    boolean hasFailed() {
        return failed;
    }
}
