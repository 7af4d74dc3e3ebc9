// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import java.util.List;

/**
 * Send queue or receive queue of a connection: outstanding operations, and the chain for posts.
 *
 * <p><b>Threading:</b> guarded by the connection's lock.
 *
 * <p><b>Ownership:</b> owns its chain; the queue pair is the connection's.
 */
abstract class WorkQueue implements AutoCloseable {
    /** Distinguishes the slots of receives from those of other operations. */
    static final int RECEIVE = 1 << 31;

    private final int number;
    private final int flag;
    private final OperationTable operations;

    private WorkQueue(int number, int flag, OperationTable operations) {
        this.number = number;
        this.flag = flag;
        this.operations = operations;
    }

    /**
     * Returns the queue of all operations other than receives.
     *
     * @param number the connection's
     * @param count most operations outstanding, and most in a chain
     * @param maxPieces of local memory in each
     */
    static WorkQueue ofSends(int number, QueuePair pair, int count, int maxPieces) {
        return new Sends(number, pair, count, maxPieces);
    }

    /** Returns the queue of receives, which are posted one by one. */
    static WorkQueue ofReceives(int number, QueuePair pair, int count) {
        return new Receives(number, pair, count);
    }

    OperationTable operations() {
        return operations;
    }

    /**
     * Stores operations, begun, in slots and posts them with one call: none if this throws, but for a
     * {@link NativeException} of several. One of them is malformed then, and those before it may be the device's: all
     * stay in their slots, until the connection ends.
     *
     * @param deadline of all of them
     * @return how many the device has taken, which has promised room for all; the others are in no slot
     * @throws java.util.concurrent.RejectedExecutionException if there are not enough free slots
     */
    final int post(List<? extends Operation> posted, long deadline) {
        int size = posted.size();
        operations.requireFree(size);
        int filled = 0;
        int taken = 0;
        clear();
        try {
            while (filled < size) {
                Operation operation = posted.get(filled);
                int slot = operations.put(operation);
                operation.start(slot, deadline);
                filled++;
                add(operation.work(), CompletionTarget.workRequestId(number, slot | flag), slot);
            }
            taken = size == 0 ? 0 : post();
        } catch (NativeException e) {
            taken = size == 1 ? 0 : size;
            throw e;
        } finally {
            for (int i = filled - 1; i >= taken; i--) {
                operations.take(posted.get(i).slot());
            }
        }
        return taken;
    }

    abstract void clear();

    abstract void add(Work work, long workRequestId, int slot);

    /** Posts the chain; returns how many of its requests were taken. */
    abstract int post();

    /** Frees the chain; nothing is posted any more. */
    @Override
    public abstract void close();

    private static final class Sends extends WorkQueue {
        private final QueuePair pair;
        private final SendRequests chain;

        Sends(int number, QueuePair pair, int count, int maxPieces) {
            super(number, 0, new OperationTable("operations", count));
            this.pair = pair;
            this.chain = new SendRequests(count, maxPieces);
        }

        @Override
        void clear() {
            chain.clear();
        }

        @Override
        void add(Work work, long workRequestId, int slot) {
            work.add(chain, workRequestId, slot);
        }

        @Override
        int post() {
            return pair.post(chain);
        }

        @Override
        public void close() {
            chain.close();
        }

        @Override
        public String toString() {
            return "send queue of " + pair;
        }
    }

    private static final class Receives extends WorkQueue {
        private final QueuePair pair;
        private final ReceiveRequests chain = new ReceiveRequests(1);

        Receives(int number, QueuePair pair, int count) {
            super(number, RECEIVE, new OperationTable("receives", count));
            this.pair = pair;
        }

        @Override
        void clear() {
            chain.clear();
        }

        @Override
        void add(Work work, long workRequestId, int slot) {
            work.add(chain, workRequestId);
        }

        @Override
        int post() {
            return pair.post(chain);
        }

        @Override
        public void close() {
            chain.close();
        }

        @Override
        public String toString() {
            return "receive queue of " + pair;
        }
    }
}
