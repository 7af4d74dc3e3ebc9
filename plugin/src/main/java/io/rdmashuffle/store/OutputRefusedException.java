// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import java.io.IOException;

/** A map output cannot be written this way, and nothing of it was; another way is to be tried. */
public final class OutputRefusedException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Says why. */
    public OutputRefusedException(String message) {
        super(message);
    }
}
