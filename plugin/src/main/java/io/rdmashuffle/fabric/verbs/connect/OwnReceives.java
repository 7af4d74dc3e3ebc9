// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SharedReceiveQueue;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Separate receives of each queue pair, for devices without a shared receive queue (erdma, mana, ionic, irdma before
 * its third generation): 4 KiB a queue pair.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> of its {@link QueryResponder}.
 */
final class OwnReceives implements Receives {
    /** Receives: enough for all messages that the reader may have under way, in whole slots of memory. */
    static final int RECEIVES = 2 * ControlMemory.SLOT_BYTES / MESSAGE_BYTES;

    static {
        if (RECEIVES < MAX_MESSAGES_OF_READER) {
            throw new AssertionError("a reader has more messages under way than receives");
        }
    }

    private final ControlMemory memory;
    private final int maxPairs;
    private final ReceiveRequests receive = new ReceiveRequests(1);
    private final Map<Integer, ReceiveSlots> byPair = new HashMap<>();
    /** Queue pairs for which the device refused a receive. */
    private final Set<ReceiveSlots> refused = new HashSet<>();

    OwnReceives(Rail rail, int completionEntries) {
        this.memory = rail.controlMemory();
        // All receives of a queue pair may be flushed at once, and a response.
        this.maxPairs = completionEntries / (RECEIVES + 1);
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
        ReceiveSlots own = new ReceiveSlots(memory, RECEIVES, pair::post);
        byPair.put(pair.number(), own);
        postAll(own);
    }

    @Override
    public void remove(int pairNumber) {
        ReceiveSlots own = byPair.remove(pairNumber);
        if (own != null) {
            refused.remove(own);
            own.release();
        }
    }

    @Override
    public long address(int pairNumber, int message) {
        ReceiveSlots own = byPair.get(pairNumber);
        if (own == null) {
            throw new IllegalStateException("a message on queue pair " + pairNumber + ", which is closed");
        }
        return own.address(message);
    }

    @Override
    public void post(int pairNumber, int message) {
        ReceiveSlots own = byPair.get(pairNumber);
        if (own != null) {
            own.add(message);
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

    private void postAll(ReceiveSlots own) {
        if (own.postAll(receive)) {
            refused.remove(own);
        } else {
            refused.add(own);
        }
    }

    @Override
    public void close() {
        receive.close();
    }
}
