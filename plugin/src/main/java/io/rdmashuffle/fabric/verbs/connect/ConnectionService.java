// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

/**
 * Service of the control side for data threads.
 *
 * <p><b>Threading:</b> thread-safe; returns at once.
 */
public interface ConnectionService {
    /** Connects, at once or after earlier attempts; the listener receives the outcome. */
    void connect(ConnectionTarget target, ConnectionListener listener);

    /** Disconnects a connection whose queue pair is closed, and takes its slot back. */
    void closeIdentity(EstablishedPair pair);
}
