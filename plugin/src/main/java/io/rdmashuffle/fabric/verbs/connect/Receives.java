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

    /** Returns what queue pairs take their receives from, null if each has its own. */
    @Nullable
    SharedReceiveQueue queue();

    /** Returns how many receives a queue pair has of its own. */
    int ofEachPair();

    /** Returns how many queue pairs can be served without the completion queue overflowing. */
    int maxPairs();

    /** Posts a queue pair's own receives; before its peer can send. */
    void add(QueuePair pair);

    /** Forgets a queue pair that was closed. */
    void remove(int pairNumber);

    /** Returns where the message of a receive lies. */
    long address(int pairNumber, int message);

    /** Posts a receive whose message was taken: now, or when the device takes it. */
    void post(int pairNumber, int message);

    /** Takes a receive back that ended without a message, since its queue pair failed. */
    void flushed(int pairNumber, int message);

    /** Posts what the device has refused. */
    void postAgain();

    @Override
    void close();
}
