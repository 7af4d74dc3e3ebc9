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
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Receives of each queue pair's own, for devices without a shared receive queue (erdma, mana, ionic, irdma before its
 * third generation): 4 KiB a queue pair.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> of its {@link QueryResponder}; has its memory from the rail and gives it back.
 */
final class OwnReceives implements Receives {
    private static final Logger LOG = LoggerFactory.getLogger(OwnReceives.class);

    /** What the reader may have under way fits, in whole slots of memory. */
    static final int RECEIVES = 2 * MESSAGES_IN_SLOT;

    static {
        if (RECEIVES < MAX_MESSAGES_OF_READER) {
            throw new AssertionError("a reader has more messages under way than receives");
        }
    }

    private final ControlMemory memory;
    private final int maxPairs;
    private final ReceiveRequests receive = new ReceiveRequests(1);
    private final Map<Integer, Own> byPair = new HashMap<>();
    /** Those of which the device has refused something. */
    private final Set<Own> refused = new HashSet<>();

    OwnReceives(Rail rail, int completionEntries) {
        this.memory = rail.controlMemory();
        // All receives of a queue pair may be flushed at once, and a response.
        this.maxPairs = completionEntries / (RECEIVES + 1);
    }

    /** A queue pair with its receives, numbered from 0. */
    private static final class Own {
        private final QueuePair pair;
        private final List<ControlMemory.Slot> slots = new ArrayList<>();
        private final Deque<Integer> unposted = new ArrayDeque<>();

        Own(QueuePair pair) {
            this.pair = pair;
        }

        long address(int message) {
            return slot(message).address() + (long) (message % MESSAGES_IN_SLOT) * MESSAGE_BYTES;
        }

        ControlMemory.Slot slot(int message) {
            return slots.get(message / MESSAGES_IN_SLOT);
        }
    }

    @Override
    public @Nullable SharedReceiveQueue queue() {
        return null;
    }

    @Override
    public int ofEachPair() {
        return RECEIVES;
    }

    @Override
    public int maxPairs() {
        return maxPairs;
    }

    @Override
    public void add(QueuePair pair) {
        Own own = new Own(pair);
        boolean complete = false;
        try {
            for (int message = 0; message < RECEIVES; message++) {
                if (message % MESSAGES_IN_SLOT == 0) {
                    own.slots.add(memory.take());
                }
                own.unposted.add(message);
            }
            complete = true;
        } finally {
            if (!complete) {
                own.slots.forEach(memory::release);
            }
        }
        byPair.put(pair.number(), own);
        postAll(own);
    }

    @Override
    public void remove(int pairNumber) {
        Own own = byPair.remove(pairNumber);
        if (own != null) {
            refused.remove(own);
            own.slots.forEach(memory::release);
        }
    }

    @Override
    public long address(int pairNumber, int message) {
        Own own = byPair.get(pairNumber);
        if (own == null) {
            throw new IllegalStateException("a message on queue pair " + pairNumber + ", which is closed");
        }
        return own.address(message);
    }

    @Override
    public void post(int pairNumber, int message) {
        Own own = byPair.get(pairNumber);
        if (own != null) {
            own.unposted.add(message);
            postAll(own);
        }
    }

    /** A queue pair that has failed would flush it at once again. */
    @Override
    public void flushed(int pairNumber, int message) {}

    @Override
    public void postAgain() {
        List.copyOf(refused).forEach(this::postAll);
    }

    private void postAll(Own own) {
        refused.remove(own);
        try {
            while (!own.unposted.isEmpty() && tryPost(own, own.unposted.element())) {
                own.unposted.remove();
            }
        } catch (NativeException | IllegalStateException e) {
            LOG.debug("Receives of {} wait to be posted", own.pair, e);
        }
        if (!own.unposted.isEmpty()) {
            refused.add(own);
        }
    }

    private boolean tryPost(Own own, int message) {
        receive.clear();
        receive.add(
                message, own.address(message), MESSAGE_BYTES, own.slot(message).localKey());
        return own.pair.post(receive) == 1;
    }

    @Override
    public void close() {
        receive.close();
    }
}
