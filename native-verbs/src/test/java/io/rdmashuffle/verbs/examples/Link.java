// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import java.io.IOException;

/**
 * A connection to a peer, however it was made.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns its side.
 */
interface Link extends AutoCloseable {
    /** Returns this end. */
    Side side();

    /** Returns who the peer is, for messages. */
    String peer();

    /** Returns how it was connected and over which device, for messages. */
    String path();

    /**
     * Verifies that the peer may still be connected; its messages may not have been polled yet.
     *
     * @throws IOException if it has disconnected
     */
    void requirePeer() throws IOException;

    @Override
    void close();
}
