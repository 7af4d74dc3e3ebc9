// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.io.IOException;

/** A peer did not give the memory that it was asked for. */
public final class MemoryRefusedException extends IOException {
    private static final long serialVersionUID = 1;

    MemoryRefusedException(long lengthBytes, String peer, String why) {
        super(lengthBytes + " bytes of peer " + peer + " refused: " + why);
    }
}
