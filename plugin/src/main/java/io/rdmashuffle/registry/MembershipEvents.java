// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Dispatcher of changes to listeners, one at a time and in order, without a lock held.
 *
 * <p><b>Threading:</b> safe. {@link #add} is called under the lock that orders the changes; {@link #deliver} outside
 * it. Whoever calls {@code deliver} while another thread delivers leaves its changes to that thread.
 */
final class MembershipEvents {
    private static final Logger LOG = LoggerFactory.getLogger(MembershipEvents.class);

    private final List<MembershipListener> listeners = new CopyOnWriteArrayList<>();
    private final Queue<Change> pending = new ConcurrentLinkedQueue<>();
    private final AtomicInteger undelivered = new AtomicInteger();

    /** Change of one executor id; one of the two may be null. */
    private record Change(@Nullable Member before, @Nullable Member after) {}

    void addListener(MembershipListener listener) {
        listeners.add(listener);
    }

    void add(@Nullable Member before, @Nullable Member after) {
        pending.add(new Change(before, after));
    }

    void deliver() {
        if (undelivered.getAndIncrement() != 0) {
            return;
        }
        int seen = 1;
        do {
            for (Change change = pending.poll(); change != null; change = pending.poll()) {
                for (MembershipListener listener : listeners) {
                    tell(listener, change);
                }
            }
            seen = undelivered.addAndGet(-seen);
        } while (seen != 0);
    }

    private static void tell(MembershipListener listener, Change change) {
        try {
            listener.changed(change.before(), change.after());
        } catch (RuntimeException | Error e) {
            // Whoever delivers would leave the rest, and no one else delivers while it seems to.
            LOG.warn(
                    "A listener failed on a membership change (before: {}, after: {})",
                    change.before(),
                    change.after(),
                    e);
        }
    }
}
