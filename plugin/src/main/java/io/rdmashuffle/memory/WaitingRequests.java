// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reservations that wait for room. What comes back is handed to them by the thread that brings it, so that none of them
 * looks for room again for every lease that is closed.
 *
 * <p><b>Threading:</b> all calls but {@link #waitedNanos()} hold the pool's lock, which {@link #await} gives up while
 * it waits.
 *
 * <p><b>Ownership:</b> a lease that was handed over belongs to the thread that waited for it.
 */
final class WaitingRequests {
    private final ReentrantLock lock;
    /** In the order in which they came. */
    private final List<Waiting> all = new ArrayList<>();

    private final LongAdder waitedNanos = new LongAdder();

    WaitingRequests(ReentrantLock lock) {
        this.lock = lock;
    }

    /** One thread's. */
    private static final class Waiting {
        private final Request request;
        private final Condition changed;
        private boolean woken;
        private @Nullable Lease lease;

        Waiting(Request request, Condition changed) {
            this.request = request;
            this.changed = changed;
        }

        void wake() {
            woken = true;
            changed.signal();
        }
    }

    /** Waits until a lease is handed over, {@link #wakeAll}, or the end of the time; null without a lease. */
    @Nullable
    Lease await(Request request, long nanos) throws InterruptedException {
        Waiting mine = new Waiting(request, lock.newCondition());
        all.add(mine);
        long began = System.nanoTime();
        try {
            long left = nanos;
            while (!mine.woken && left > 0) {
                left = mine.changed.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            if (mine.lease == null) {
                throw e;
            }
            Thread.currentThread().interrupt();
        } finally {
            all.remove(mine);
            waitedNanos.add(System.nanoTime() - began);
        }
        return mine.lease;
    }

    /** Returns how long reservations have waited since the start, all of them together. */
    long waitedNanos() {
        return waitedNanos.sum();
    }

    /** Hands over what {@code taker} gives, longest waiting first; a long request holds up no short one. */
    void serve(Function<Request, @Nullable Lease> taker) {
        for (Waiting each : all) {
            if (each.lease == null) {
                each.lease = taker.apply(each.request);
                if (each.lease != null) {
                    each.wake();
                }
            }
        }
    }

    /** Has everyone look again: the pool has grown, or never will. */
    void wakeAll() {
        all.forEach(Waiting::wake);
    }
}
