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
 * Leases of an executor's pool that are targets of reads.
 *
 * <p>Waiting for room helps if other reads are about to release theirs, and not if permanent data fills the pool. After
 * each wait no read of the executor waits for 100 times the length of the wait, and after a failed one for 400 times,
 * since several may wait at once: it uses the free memory, or another path delivers its bytes. Waits therefore cost
 * tasks at most 1 % of their time.
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
     * @param timeout time that a read waits for others to release memory
     */
    public ReceiveLeases(Pool pool, Duration timeout) {
        this.pool = pool;
        this.waitPolicy = new WaitPolicy(true, timeout);
    }

    /** Returns the length of the longest lease. */
    public long longestBytes() {
        return pool.longestLease();
    }

    /** Leases {@code bytes}; null if the pool has no room. */
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

    /** Leases {@code bytes} without waiting; null if the pool has no room now. */
    public @Nullable Lease tryReserve(long bytes) throws InterruptedException {
        return pool.reserve(Purpose.RECEIVE, bytes, bytes, WaitPolicy.NONE);
    }
}
