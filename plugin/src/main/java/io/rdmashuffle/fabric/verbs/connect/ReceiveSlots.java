// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.ReceiveRequests;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.ToIntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Receives of one queue, numbered from 0, in slots of control memory. A receive that the device refuses waits to be
 * posted.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns slots of the rail's memory until {@link #release}.
 */
final class ReceiveSlots {
    private static final Logger LOG = LoggerFactory.getLogger(ReceiveSlots.class);
    private static final int MESSAGES_IN_SLOT = ControlMemory.SLOT_BYTES / Receives.MESSAGE_BYTES;

    private final ControlMemory memory;
    private final ToIntFunction<ReceiveRequests> queue;
    private final List<ControlMemory.Slot> slots = new ArrayList<>();
    private final Deque<Integer> unposted = new ArrayDeque<>();

    /**
     * Posts nothing yet.
     *
     * @param queue posts receives; returns how many the device has taken
     */
    ReceiveSlots(ControlMemory memory, int count, ToIntFunction<ReceiveRequests> queue) {
        this.memory = memory;
        this.queue = queue;
        boolean complete = false;
        try {
            for (int message = 0; message < count; message++) {
                if (message % MESSAGES_IN_SLOT == 0) {
                    slots.add(memory.take());
                }
                unposted.add(message);
            }
            complete = true;
        } finally {
            if (!complete) {
                release();
            }
        }
    }

    /** Returns the address of a receive's message. */
    long address(int message) {
        return slot(message).address() + (long) (message % MESSAGES_IN_SLOT) * Receives.MESSAGE_BYTES;
    }

    private ControlMemory.Slot slot(int message) {
        return slots.get(message / MESSAGES_IN_SLOT);
    }

    /** Releases a receive, which {@link #postAll} posts again. */
    void add(int message) {
        unposted.add(message);
    }

    /**
     * Posts all receives that are not posted; returns whether the device has taken them.
     *
     * @param receive holds one
     */
    boolean postAll(ReceiveRequests receive) {
        try {
            while (!unposted.isEmpty() && tryPost(unposted.element(), receive)) {
                unposted.remove();
            }
        } catch (NativeException | IllegalStateException e) {
            LOG.debug("{} receives wait to be posted", unposted.size(), e);
        }
        return unposted.isEmpty();
    }

    private boolean tryPost(int message, ReceiveRequests receive) {
        receive.clear();
        receive.add(
                message, address(message), Receives.MESSAGE_BYTES, slot(message).localKey());
        return queue.applyAsInt(receive) == 1;
    }

    /** Releases the memory; no receive may be posted. */
    void release() {
        slots.forEach(memory::release);
    }
}
