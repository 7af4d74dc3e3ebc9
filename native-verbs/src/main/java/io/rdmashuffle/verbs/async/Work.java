// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;

/**
 * Validated work request and its result, for one operation or a prepared one. {@link #toString()}, its name in
 * messages, is computed on demand.
 *
 * <p><b>Threading:</b> one thread at a time, as its operation ensures.
 *
 * <p><b>Ownership:</b> keeps its regions open between {@link #retain()} and {@link #release()}.
 */
abstract class Work {
    /** Keeps the regions open; throws, and keeps none, if one of them is closed. */
    abstract void retain();

    abstract void release();

    /** Adds the request to a chain, its regions open; {@code slot} is this request's alone until it has ended. */
    void add(SendRequests chain, long workRequestId, int slot) {
        throw new UnsupportedOperationException(this + " is posted to the receive queue");
    }

    /** Adds the receive to a chain, its region open. */
    void add(ReceiveRequests chain, long workRequestId) {
        throw new UnsupportedOperationException(this + " is posted to the send queue");
    }

    /** Reads what came back, while the slot is still this request's. */
    void takeResult(WorkCompletions completions, int index, int slot) {}

    /**
     * Moves the next request to other memory of the same regions; throws, and changes nothing, if it is out of bounds.
     *
     * @param localOffset in the local region, 0 if there is none
     * @param remoteOffset in the remote region, 0 if there is none
     * @param lengthBytes bytes to transfer
     */
    abstract void move(long localOffset, long remoteOffset, int lengthBytes);

    /** Returns the bytes of local memory that the next request transfers. */
    abstract int lengthBytes();
}
