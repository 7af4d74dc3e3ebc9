// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.WaitPolicy;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Leases of an executor's pool that bytes of peers are read into.
 *
 * <p>Waiting for room pays when other reads are about to give theirs back, and not when the pool is full of what stays.
 * So after each wait no read of the executor waits for a hundred times as long, and after one in vain for four hundred
 * times, since several may wait at once: it takes what there is, or its bytes come by other means at once. Waiting thus
 * costs tasks no more than a hundredth of their time.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns nothing; leases are the caller's.
 */
public final class ReceiveLeases {
    private static final long PAUSE_FACTOR = 100;
    private static final long PAUSE_FACTOR_IN_VAIN = 400;

    /** Looking for room takes microseconds; what takes longer was a wait. */
    private static final long MIN_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final Pool pool;
    private final WaitPolicy waitPolicy;
    private volatile long noWaitUntil = System.nanoTime();

    /**
     * Leases from {@code pool}.
     *
     * @param timeout how long a read waits for others to give memory back
     */
    public ReceiveLeases(Pool pool, Duration timeout) {
        this.pool = pool;
        this.waitPolicy = new WaitPolicy(true, timeout);
    }

    /** Returns the length of the longest lease. */
    public long longestBytes() {
        return pool.longestLease();
    }

    /** Leases so many bytes; null when the pool has no room. */
    public @Nullable Lease reserve(long bytes) throws InterruptedException {
        long before = System.nanoTime();
        if (before - noWaitUntil < 0) {
            return tryReserve(bytes);
        }
        Lease lease = pool.reserve(Purpose.RECEIVE, bytes, bytes, waitPolicy);
        long after = System.nanoTime();
        if (after - before >= MIN_WAIT_NANOS) {
            long factor = lease == null ? PAUSE_FACTOR_IN_VAIN : PAUSE_FACTOR;
            noWaitUntil = after + factor * (after - before);
        }
        return lease;
    }

    /** Leases so many bytes without waiting; null when the pool has no room now. */
    public @Nullable Lease tryReserve(long bytes) throws InterruptedException {
        return pool.reserve(Purpose.RECEIVE, bytes, bytes, WaitPolicy.NONE);
    }
}
