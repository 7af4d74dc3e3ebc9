// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.ReadFailedException;

/**
 * What becomes of an attempt to connect: {@link #connected} or {@link #connectFailed}, once; {@link #broken} perhaps
 * later.
 *
 * <p><b>Threading:</b> called by the control thread, which must not be held up.
 */
public interface ConnectionListener {
    /** Takes over a connection. */
    void connected(EstablishedPair pair);

    /** Takes the news that the attempt is over. */
    void connectFailed(ReadFailedException failure);

    /** Takes the news that the connection manager ended a connection. */
    void broken(EstablishedPair pair, ReadFailedException failure);
}
