// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import org.jspecify.annotations.Nullable;

/**
 * Intrusive FIFO list of reads: no garbage, and no bound of its own, since reads in flight are bounded.
 *
 * <p><b>Threading:</b> one thread.
 */
final class ReadFifo {
    private @Nullable PendingRead first;
    private @Nullable PendingRead last;
    private int size;

    @Nullable
    PendingRead first() {
        return first;
    }

    int size() {
        return size;
    }

    boolean isEmpty() {
        return first == null;
    }

    void add(PendingRead read) {
        read.next = null;
        if (last == null) {
            first = read;
        } else {
            last.next = read;
        }
        last = read;
        size++;
    }

    /** Removes the first, or returns null. */
    @Nullable
    PendingRead poll() {
        PendingRead read = first;
        if (read != null) {
            size--;
            first = read.next;
            if (first == null) {
                last = null;
            }
            read.next = null;
        }
        return read;
    }

    /** Removes the first, of which the caller knows that it is there. */
    PendingRead take() {
        PendingRead read = poll();
        if (read == null) {
            throw new IllegalStateException("no read is waiting");
        }
        return read;
    }
}
