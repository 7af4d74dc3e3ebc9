// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import org.jspecify.annotations.Nullable;

/** Signals that a fabric cannot reach a peer's address; the message is for users. */
public final class PeerUnreachableException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Creates an exception with a reason. */
    public PeerUnreachableException(String reason) {
        super(reason);
    }

    /** Creates one with a reason and a cause, which may be null. */
    public PeerUnreachableException(String reason, @Nullable Throwable cause) {
        super(reason, cause);
    }
}
