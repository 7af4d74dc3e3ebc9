// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import java.io.IOException;

/** Signals that a map output was refused as a whole; the caller must write it another way. */
public final class OutputRefusedException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Creates an exception with a reason. */
    public OutputRefusedException(String message) {
        super(message);
    }
}
