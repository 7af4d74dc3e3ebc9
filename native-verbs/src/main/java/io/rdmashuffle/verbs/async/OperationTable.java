// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The operations outstanding on one queue, by number; as many as the queue is long.
 *
 * <p><b>Threading:</b> guarded by the connection's lock.
 */
final class OperationTable {
    private final String what;
    private final @Nullable Operation[] operations;
    private final int[] free;
    private int freeCount;

    OperationTable(String what, int count) {
        this.what = what;
        this.operations = new Operation[count];
        this.free = new int[count];
        for (int slot = count - 1; slot >= 0; slot--) {
            free[freeCount++] = slot;
        }
    }

    /** Throws {@link RejectedExecutionException} unless {@code count} slots are free. */
    void requireFree(int count) {
        if (freeCount < count) {
            throw new RejectedExecutionException(operations.length - freeCount + " " + what
                    + " outstanding on this connection, " + count + " more asked for, at most " + operations.length
                    + "; wait until one has ended,"
                    + " or open the endpoint with a higher bound");
        }
    }

    /** Stores an operation in a free slot; throws {@link RejectedExecutionException} if there is none. */
    int put(Operation operation) {
        requireFree(1);
        int slot = free[--freeCount];
        operations[slot] = operation;
        return slot;
    }

    /** Clears a slot; returns its operation, or null. */
    @Nullable
    Operation take(int slot) {
        Operation operation = operations[slot];
        if (operation != null) {
            operations[slot] = null;
            free[freeCount++] = slot;
        }
        return operation;
    }

    boolean isEmpty() {
        return freeCount == operations.length;
    }

    /** Marks every operation past its deadline; returns one of them, null if there is none. */
    @Nullable
    Operation markOverdue(long now) {
        Operation found = null;
        for (Operation operation : operations) {
            if (operation != null && operation.markOverdue(now)) {
                found = operation;
            }
        }
        return found;
    }

    /** Returns the nearest deadline, {@link Operation#NEVER} if there is none. */
    long nearestDeadline() {
        long nearest = Operation.NEVER;
        for (Operation operation : operations) {
            if (operation != null) {
                nearest = Math.min(nearest, operation.deadline());
            }
        }
        return nearest;
    }

    /** Empties all slots. */
    List<Operation> takeAll() {
        List<Operation> all = new ArrayList<>();
        for (int slot = 0; slot < operations.length; slot++) {
            Operation operation = take(slot);
            if (operation != null) {
                all.add(operation);
            }
        }
        return all;
    }
}
