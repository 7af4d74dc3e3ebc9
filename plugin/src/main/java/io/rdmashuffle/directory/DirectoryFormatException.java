// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import java.io.IOException;

/** Bytes read from a peer are not what the layout says; another path to the block may still work. */
public final class DirectoryFormatException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Creates an exception with a description of the damage. */
    public DirectoryFormatException(String message) {
        super(message);
    }
}
