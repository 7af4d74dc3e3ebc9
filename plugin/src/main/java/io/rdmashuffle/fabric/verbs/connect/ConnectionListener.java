// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.ReadFailedException;

/**
 * Listener of a connection attempt: {@link #connected}, {@link #connectFailed} or {@link #notTried}, once;
 * {@link #broken} perhaps later.
 *
 * <p><b>Threading:</b> called by the control thread, which must not be held up.
 */
public interface ConnectionListener {
    /** Returns whether a connection is still of use; asked when the attempt's turn comes. */
    boolean isWanted();

    /** Reports that the attempt did not begin, because a connection was of no use when its turn came. */
    void notTried();

    /** Assumes ownership of a connection. */
    void connected(EstablishedPair pair);

    /** Reports that the attempt is over. */
    void connectFailed(ReadFailedException failure);

    /** Reports that the connection manager ended a connection. */
    void broken(EstablishedPair pair, ReadFailedException failure);
}
