// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.SendRequests;

/**
 * A short message inside its request.
 *
 * <p><b>Ownership:</b> the scratch region is the connection's, and open as long as anything is posted to it.
 */
final class InlineMessage extends Work {
    private final byte[] message;
    private final LocalRegion scratch;
    private final long firstSlot;
    private final int slotBytes;

    /**
     * Describes a message.
     *
     * @param message is not copied
     * @param scratch has a place for the message of each slot
     * @param firstSlot offset of the first place
     * @param slotBytes length of a place
     */
    InlineMessage(byte[] message, LocalRegion scratch, long firstSlot, int slotBytes) {
        this.message = message;
        this.scratch = scratch;
        this.firstSlot = firstSlot;
        this.slotBytes = slotBytes;
    }

    @Override
    void retain() {}

    @Override
    void release() {}

    @Override
    void add(SendRequests chain, long workRequestId, int slot) {
        // The device copies while it is posted, and the slot is this request's until then.
        long offset = firstSlot + (long) slot * slotBytes;
        scratch.put(offset, message);
        chain.send(workRequestId, scratch.address(offset), message.length, scratch.localKey(), true)
                .inline();
    }

    @Override
    void move(long localOffset, long remoteOffset, int lengthBytes) {
        throw new UnsupportedOperationException(this + " has no memory of its own");
    }

    @Override
    int lengthBytes() {
        return message.length;
    }

    @Override
    public String toString() {
        return "SEND of " + message.length + " bytes inline";
    }
}
