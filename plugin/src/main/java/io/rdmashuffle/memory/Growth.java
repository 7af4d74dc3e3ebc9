// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Whether a pool may try to grow, until when that is waited for, and when it is tried again after it failed. How far it
 * may grow is {@link RegionFactory}'s.
 *
 * <p><b>Threading:</b> none; the {@link Pool}'s lock guards it.
 */
final class Growth {
    /**
     * What growth is expected to bring at least: pages are cleared at several GB/s and pinned at about one, and hosts
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

    /** Begins without any under way, which will have a thread of its own. */
    Growth(ThreadFactory threads) {
        this.threads = threads;
    }

    boolean isUnderWay() {
        return underWay;
    }

    /** Returns whether a region of so many bytes, more than 0, may be asked for now. */
    boolean mayBegin(long bytes) {
        return !underWay && bytes > 0 && System.nanoTime() - refusedUntilNanos >= 0;
    }

    /**
     * Starts a thread that grows the pool by so many bytes and ends that with {@link #succeed()} or {@link #fail()}.
     * Where the system has no thread left, that is a failure; the error that tells so says nothing of the heap.
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

    /** Returns the {@link System#nanoTime()} until which it is worth to wait for what is under way. */
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

    /** Takes note that the host has more room now than it had when the pool could not grow. */
    void forgetFailure() {
        failed = false;
        refusedUntilNanos = System.nanoTime();
    }

    /** Returns whether the last attempt failed. */
    boolean hasFailed() {
        return failed;
    }
}
