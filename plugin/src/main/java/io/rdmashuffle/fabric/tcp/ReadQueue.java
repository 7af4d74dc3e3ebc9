// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import org.jspecify.annotations.Nullable;

/**
 * Reads of one connection in the order of their requests, sent reads first. Linked through {@link PendingRead#next}, so
 * that a read makes no garbage.
 *
 * <p><b>Threading:</b> one thread.
 */
final class ReadQueue {
    private @Nullable PendingRead first;
    private @Nullable PendingRead last;
    private @Nullable PendingRead unsent;

    /** Returns the oldest read; null if there is none. */
    @Nullable
    PendingRead first() {
        return first;
    }

    /** Returns the first read that has not been sent as a whole; null if there is none. */
    @Nullable
    PendingRead unsent() {
        return unsent;
    }

    void add(PendingRead read) {
        read.next = null;
        if (last == null) {
            first = read;
        } else {
            last.next = read;
        }
        last = read;
        if (unsent == null) {
            unsent = read;
        }
    }

    /** Records that a read, which is {@link #unsent}, has been sent as a whole; returns the next. */
    @Nullable
    PendingRead sent(PendingRead read) {
        unsent = read.next;
        return unsent;
    }

    /** Removes a read, given the one before it, which is null for the first. */
    void remove(@Nullable PendingRead before, PendingRead read) {
        if (before == null) {
            first = read.next;
        } else {
            before.next = read.next;
        }
        if (last == read) {
            last = before;
        }
        if (unsent == read) {
            unsent = read.next;
        }
    }

    /** Removes all reads; returns the first, with the others linked through {@code next}. */
    @Nullable
    PendingRead takeAll() {
        PendingRead read = first;
        first = null;
        last = null;
        unsent = null;
        return read;
    }
}
