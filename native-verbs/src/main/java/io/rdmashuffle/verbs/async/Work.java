// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;

/**
 * What a device is asked to do, checked, and what it answered: for one operation, or for one that is posted again and
 * again. Its name for messages, {@link #toString()}, is made when there is something to tell.
 *
 * <p><b>Threading:</b> one thread at a time, which the operation that has it sees to.
 *
 * <p><b>Ownership:</b> keeps its regions open between {@link #retain()} and {@link #release()}.
 */
abstract class Work {
    /** Keeps the regions open; throws, and keeps none, if one of them is closed. */
    abstract void retain();

    abstract void release();

    /** Puts the request into a chain, its regions open; {@code slot} is this request's alone until it has ended. */
    void add(SendRequests chain, long workRequestId, int slot) {
        throw new UnsupportedOperationException(this + " is posted to the receive queue");
    }

    /** Puts the receive into a chain, its region open. */
    void add(ReceiveRequests chain, long workRequestId) {
        throw new UnsupportedOperationException(this + " is posted to the send queue");
    }

    /** Reads what came back, while the slot is still this request's. */
    void takeResult(WorkCompletions completions, int index, int slot) {}

    /**
     * Has the next request use other memory, in the same regions; throws, and changes nothing, if that is not inside.
     *
     * @param localOffset in the local region, 0 if there is none
     * @param remoteOffset in the remote region, 0 if there is none
     * @param lengthBytes of what is transferred
     */
    abstract void move(long localOffset, long remoteOffset, int lengthBytes);

    /** Returns the bytes of local memory that the next request transfers. */
    abstract int lengthBytes();
}
