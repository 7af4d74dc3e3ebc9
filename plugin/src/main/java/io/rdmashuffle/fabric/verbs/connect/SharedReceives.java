// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SharedReceiveQueue;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Receives that all queue pairs of one rail share: memory that does not grow with their number.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> of its {@link QueryResponder}; owns the queue. Its memory is the rail's.
 */
final class SharedReceives implements Receives {
    private static final Logger LOG = LoggerFactory.getLogger(SharedReceives.class);

    /**
     * The first message of a reader is a query, and at the start of a stage all readers of a fleet may send theirs
     * before this side takes the first: 4096 hold those of 4,000 executors, or everything that 800 can send at all.
     * They take 2 MiB of registered memory.
     */
    static final int MAX_RECEIVES = 1 << 12;

    private final SharedReceiveQueue queue;
    private final int count;
    private final List<ControlMemory.Slot> slots = new ArrayList<>();
    private final ReceiveRequests receive = new ReceiveRequests(1);
    private final Deque<Integer> unposted = new ArrayDeque<>();

    /**
     * Posts as many receives as the device can hold, but not more than {@value #MAX_RECEIVES}.
     *
     * @param completionEntries of the queue that takes their completions: half of it is for them
     */
    SharedReceives(Rail rail, int completionEntries) {
        int possible = Math.min(rail.limits().maxSharedReceives(), completionEntries / 2);
        this.count = Math.max(1, Math.min(MAX_RECEIVES, possible));
        this.queue = rail.domain().createSharedReceiveQueue(count);
        for (int message = 0; message < count; message++) {
            if (message % MESSAGES_IN_SLOT == 0) {
                slots.add(rail.controlMemory().take());
            }
            unposted.add(message);
        }
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

    /** Returns how many receives there are, posted or not. */
    int count() {
        return count;
    }

    @Override
    public long address(int pairNumber, int message) {
        return address(message);
    }

    private long address(int message) {
        return slot(message).address() + (long) (message % MESSAGES_IN_SLOT) * MESSAGE_BYTES;
    }

    private ControlMemory.Slot slot(int message) {
        return slots.get(message / MESSAGES_IN_SLOT);
    }

    @Override
    public void post(int pairNumber, int message) {
        unposted.add(message);
        postAgain();
    }

    /** It serves the other queue pairs. */
    @Override
    public void flushed(int pairNumber, int message) {
        post(pairNumber, message);
    }

    @Override
    public void postAgain() {
        int before = unposted.size();
        try {
            while (!unposted.isEmpty() && tryPost(unposted.element())) {
                unposted.remove();
            }
        } catch (NativeException | IllegalStateException e) {
            LOG.debug("{} receives wait to be posted", before, e);
        }
    }

    private boolean tryPost(int message) {
        receive.clear();
        receive.add(message, address(message), MESSAGE_BYTES, slot(message).localKey());
        return queue.post(receive) == 1;
    }

    @Override
    public void close() {
        queue.close();
        receive.close();
    }
}
