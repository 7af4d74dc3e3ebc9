// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.SharedReceiveQueue;
import java.io.IOException;

/** Where a connection takes its receives from that has none of its own. */
interface ReceiveSource {
    /** Returns the queue that the connection's queue pair is made with. */
    SharedReceiveQueue queue();

    /**
     * Says whether a connection can be made with the queue.
     *
     * @throws IOException if the source is closed
     */
    void requireOpen() throws IOException;

    /**
     * Has messages of a queue pair go to the handler as this connection's, until it ends: the number may then be
     * another's already.
     *
     * @throws IOException if the source is closed
     */
    void add(int pairNumber, RdmaConnection connection) throws IOException;
}
