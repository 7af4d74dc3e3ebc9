// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.SharedReceiveQueue;
import java.io.IOException;

/** Source of shared receives of a connection. */
interface ReceiveSource {
    /** Returns the queue that the connection's queue pair is made with. */
    SharedReceiveQueue queue();

    /**
     * Verifies that a connection can use the queue.
     *
     * @throws IOException if the source is closed
     */
    void requireOpen() throws IOException;

    /**
     * Routes messages of a queue pair to the handler as this connection's, until it ends: the number may then be
     * another's already.
     *
     * @throws IOException if the source is closed
     */
    void add(int pairNumber, RdmaConnection connection) throws IOException;
}
