// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import org.jspecify.annotations.Nullable;

/** A fabric cannot reach a peer's address at all; the message says why in words that a user understands. */
public final class PeerUnreachableException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Says why. */
    public PeerUnreachableException(String reason) {
        super(reason);
    }

    /** Creates one with a reason and a cause, which may be null. */
    public PeerUnreachableException(String reason, @Nullable Throwable cause) {
        super(reason, cause);
    }
}
