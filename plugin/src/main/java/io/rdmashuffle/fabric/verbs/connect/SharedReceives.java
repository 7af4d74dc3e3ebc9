// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SharedReceiveQueue;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The receives that messages of all peers of one rail come into: memory that does not grow with their number.
 *
 * <p>Every receive is either posted, or with the caller who takes its message, or waits here to be posted because the
 * device refused it; none is lost.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> of its {@link QueryResponder}; owns the queue. Its memory is the rail's.
 */
final class SharedReceives implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SharedReceives.class);

    /**
     * A reader has at most five messages under way on a queue pair: a query, a question, three releases. Its first is a
     * query, and at the start of a stage all readers of a fleet may send theirs before this side takes the first: 4096
     * hold those of 4,000 executors, or everything that 800 can send at all. They take 2 MiB of registered memory.
     */
    static final int MAX_RECEIVES = 1 << 12;

    private static final int MESSAGE_BYTES = 512;
    private static final int MESSAGES_IN_SLOT = ControlMemory.SLOT_BYTES / MESSAGE_BYTES;

    static {
        if (StagingMessages.MAX_QUESTION_BYTES > MESSAGE_BYTES) {
            throw new AssertionError("a question does not fit into a receive");
        }
    }

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

    /** Returns what queue pairs take their receives from. */
    SharedReceiveQueue queue() {
        return queue;
    }

    /** Returns how many receives there are, posted or not. */
    int count() {
        return count;
    }

    /** Returns where the message of a receive lies. */
    long address(int message) {
        return slot(message).address() + (long) (message % MESSAGES_IN_SLOT) * MESSAGE_BYTES;
    }

    private ControlMemory.Slot slot(int message) {
        return slots.get(message / MESSAGES_IN_SLOT);
    }

    /** Posts a receive whose message was taken, or whose queue pair failed: now, or when the device takes it. */
    void post(int message) {
        unposted.add(message);
        postAgain();
    }

    /** Posts what the device has refused. */
    void postAgain() {
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
