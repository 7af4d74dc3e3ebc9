// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

/** RDMA cannot be used on this machine; the message says in one line why, and what would change it. */
public final class RdmaUnavailableException extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Creates one without a cause.
     *
     * @param reason why, and what would change it, in one line
     */
    public RdmaUnavailableException(String reason) {
        super(reason);
    }

    /**
     * Creates one with a cause.
     *
     * @param reason why, and what would change it, in one line
     * @param cause what the loader or the kernel said
     */
    public RdmaUnavailableException(String reason, Throwable cause) {
        super(reason, cause);
    }
}
