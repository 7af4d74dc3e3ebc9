// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SharedReceiveQueue;

/**
 * Shared receives of all queue pairs of one rail: memory that does not grow with their number.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> of its {@link QueryResponder}; owns the queue. Its memory is the rail's.
 */
final class SharedReceives implements Receives {
    /**
     * The first message of a reader is a query, and at the start of a stage all readers of a fleet may send theirs
     * before this side takes the first: 4096 hold those of 4,000 executors, or everything that 800 can send at all.
     * They take 2 MiB of registered memory.
     */
    static final int MAX_RECEIVES = 1 << 12;

    private final SharedReceiveQueue queue;
    private final int count;
    private final ReceiveSlots slots;
    private final ReceiveRequests receive;

    /**
     * Posts as many receives as the device can hold, but not more than {@value #MAX_RECEIVES}.
     *
     * @param completionEntries of the queue that takes their completions: half of it is for them
     */
    SharedReceives(Rail rail, int completionEntries) {
        int possible = Math.min(rail.limits().maxSharedReceives(), completionEntries / 2);
        this.count = Math.max(1, Math.min(MAX_RECEIVES, possible));
        this.queue = rail.domain().createSharedReceiveQueue(count);
        this.slots = new ReceiveSlots(rail.controlMemory(), count, queue::post);
        // Not before what may fail: it does not close with the device.
        this.receive = new ReceiveRequests(1);
        postAgain();
    }

    @Override
    public SharedReceiveQueue queue() {
        return queue;
    }

    @Override
    public int ofEachPair() {
        return 0;
    }

    @Override
    public int maxPairs() {
        return ConnectSettings.MAX_SERVED;
    }

    @Override
    public void add(QueuePair pair) {}

    @Override
    public void remove(int pairNumber) {}

    /** Returns the number of receives, posted or not. */
    int count() {
        return count;
    }

    @Override
    public long address(int pairNumber, int message) {
        return slots.address(message);
    }

    @Override
    public void post(int pairNumber, int message) {
        slots.add(message);
        postAgain();
    }

    /** It serves the other queue pairs. */
    @Override
    public void flushed(int pairNumber, int message) {
        post(pairNumber, message);
    }

    @Override
    public void postAgain() {
        boolean unused = slots.postAll(receive);
    }

    @Override
    public void close() {
        queue.close();
        receive.close();
    }
}
