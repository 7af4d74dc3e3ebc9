// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

/**
 * What data threads ask of the control side.
 *
 * <p><b>Threading:</b> thread-safe; returns at once.
 */
public interface ConnectionService {
    /** Connects, at once or when attempts that came before leave room; the listener is told of the outcome. */
    void connect(ConnectionTarget target, ConnectionListener listener);

    /** Disconnects a connection whose queue pair is closed, and takes its slot back. */
    void closeIdentity(EstablishedPair pair);
}
