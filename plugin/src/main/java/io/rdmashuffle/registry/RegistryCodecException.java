// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

/** Thrown when bytes are not a message of this protocol version, or a message exceeds the protocol's bounds. */
public final class RegistryCodecException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    RegistryCodecException(String message) {
        super(message);
    }

    RegistryCodecException(String message, Throwable cause) {
        super(message, cause);
    }
}
