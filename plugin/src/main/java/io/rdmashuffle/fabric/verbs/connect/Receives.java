// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.SharedReceiveQueue;
import org.jspecify.annotations.Nullable;

/**
 * The receives that messages of the peers of one rail come into.
 *
 * <p>Every receive is either posted, or with the caller who takes its message, or waits to be posted because the device
 * refused it; none is lost.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> of their {@link QueryResponder}.
 */
interface Receives extends AutoCloseable {
    /** Bytes of a receive. */
    int MESSAGE_BYTES = 512;

    /** Most messages that a reader has under way on a queue pair: a query, a question, three releases. */
    int MAX_MESSAGES_OF_READER = 5;

    /** Returns the shared receive queue; null if each queue pair has its own receives. */
    @Nullable
    SharedReceiveQueue queue();

    /** Returns the number of a queue pair's own receives. */
    int ofEachPair();

    /** Returns the number of queue pairs that can be served without overflow of the completion queue. */
    int maxPairs();

    /** Posts a queue pair's own receives; before its peer can send. */
    void add(QueuePair pair);

    /** Drops a queue pair that was closed. */
    void remove(int pairNumber);

    /** Returns the address of a receive's message. */
    long address(int pairNumber, int message);

    /** Reposts the receive of a processed message: now, or when the device accepts it. */
    void post(int pairNumber, int message);

    /** Releases a receive that ended without a message, since its queue pair failed. */
    void flushed(int pairNumber, int message);

    /** Posts what the device has refused. */
    void postAgain();

    @Override
    void close();
}
