// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Reads from many threads for one, chained through themselves; it can be closed for good.
 *
 * <p>A stack that is always taken whole, so no entry can leave and come back while another thread compares.
 *
 * <p><b>Threading:</b> any thread adds; one thread takes.
 */
final class Inbox {
    private static final PendingRead CLOSED = new PendingRead();

    private final AtomicReference<@Nullable PendingRead> top = new AtomicReference<>();

    /** Adds a read; returns false if the inbox is closed, when the read stays the caller's. */
    boolean add(PendingRead read) {
        while (true) {
            PendingRead before = top.get();
            if (before == CLOSED) {
                return false;
            }
            read.next = before;
            if (top.compareAndSet(before, read)) {
                return true;
            }
        }
    }

    boolean isEmpty() {
        return top.get() == null;
    }

    /** Takes everything; returns the oldest, chained to the newer ones, or null. */
    @Nullable
    PendingRead takeAll() {
        return top.get() == null ? null : reversed(top.getAndSet(null));
    }

    /** Takes everything and lets nothing in any more. */
    @Nullable
    PendingRead close() {
        PendingRead rest = top.getAndSet(CLOSED);
        return rest == CLOSED ? null : reversed(rest);
    }

    private static @Nullable PendingRead reversed(@Nullable PendingRead newest) {
        PendingRead oldest = null;
        PendingRead read = newest;
        while (read != null) {
            PendingRead before = read.next;
            read.next = oldest;
            oldest = read;
            read = before;
        }
        return oldest;
    }
}
