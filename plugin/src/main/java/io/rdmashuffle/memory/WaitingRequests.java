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
 * Queue of reservations that wait for room. The thread that closes a lease hands its bytes to them, so that waiters do
 * not search the pool again for every closed lease.
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

    /** Returns the total time of waits since the start. */
    long waitedNanos() {
        return waitedNanos.sum();
    }

    /** Passes on what {@code taker} gives, longest waiting first; a long request holds up no short one. */
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

    /** Wakes everyone: the pool has grown, or never will. */
    void wakeAll() {
        all.forEach(Waiting::wake);
    }
}
