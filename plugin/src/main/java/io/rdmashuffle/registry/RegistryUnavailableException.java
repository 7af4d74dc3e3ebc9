// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

/** Thrown by a {@link DriverChannel} when the driver did not answer in time or cannot be reached. */
public final class RegistryUnavailableException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Creates one with the transport's exception as {@code cause}. */
    public RegistryUnavailableException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Creates one without a cause. */
    public RegistryUnavailableException(String message) {
        super(message);
    }
}
