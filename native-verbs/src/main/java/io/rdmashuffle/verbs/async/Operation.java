// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.WorkCompletions;

/**
 * Work from its posting to its end, which a subclass tells: once for a {@link FutureOperation}, each time for a
 * {@link PreparedOperation}.
 *
 * <p><b>Threading:</b> handed over under the connection's lock, where its slot and deadline are; ended by the thread
 * that took it out of its slot, which happens once a posting.
 */
abstract class Operation {
    /** No timeout. */
    static final long NEVER = Long.MAX_VALUE;

    private final Work work;
    private int slot;
    private long deadline = NEVER;
    private boolean overdue;

    Operation(Work work) {
        this.work = work;
    }

    final Work work() {
        return work;
    }

    /** Returns its name in messages. */
    final String name() {
        return work.toString();
    }

    /** Makes it this posting's; throws if it is another's. */
    abstract void claim();

    /** Allows it to be posted again. */
    abstract void unclaim();

    /** Reports success; without a lock, after the memory was released. */
    abstract void succeeded();

    /** Reports failure; without a lock. */
    abstract void failed(Throwable reason);

    /** Fails a started operation that could not be posted because the connection has ended. */
    abstract void refuse(Throwable reason, Progress progress);

    /**
     * Keeps the regions open until the operation ends, or {@link #withdraw()}; throws if one of them is closed, or if
     * the operation is outstanding.
     */
    final void begin() {
        claim();
        boolean retained = false;
        try {
            work.retain();
            retained = true;
        } finally {
            if (!retained) {
                unclaim();
            }
        }
    }

    /** Takes {@link #begin()} back, for an operation that was not posted. */
    final void withdraw() {
        work.release();
        unclaim();
    }

    /** Keeps where it is in its table, and starts its timeout. */
    final void start(int inSlot, long until) {
        slot = inSlot;
        deadline = until;
        overdue = false;
    }

    /** Returns its slot in the table, until it has ended. */
    final int slot() {
        return slot;
    }

    final long deadline() {
        return deadline;
    }

    /** Marks the operation once its deadline has passed, for {@link #wasOverdue}; returns whether it has. */
    final boolean markOverdue(long now) {
        overdue |= deadline <= now;
        return overdue;
    }

    final boolean wasOverdue() {
        return overdue;
    }

    /** Reads what came back, while the slot is still this operation's. */
    final void takeResult(WorkCompletions completions, int index) {
        work.takeResult(completions, index, slot);
    }

    /** Ends with the result that was taken. */
    final void succeed() {
        withdraw();
        succeeded();
    }

    final void fail(Throwable reason) {
        withdraw();
        failed(reason);
    }

    /** Ends like {@link #fail}, but the regions stay in use for good: the device may still write into it. */
    final void failKeepingRegions(Throwable reason) {
        unclaim();
        failed(reason);
    }
}
