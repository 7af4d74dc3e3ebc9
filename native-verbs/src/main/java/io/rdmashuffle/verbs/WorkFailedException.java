// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.io.IOException;

/** A work request that failed: the operation, the peer, the completion status, and what that usually means. */
public final class WorkFailedException extends IOException {
    private static final long serialVersionUID = 1L;

    private final CompletionStatus status;
    private final int vendorError;

    /**
     * Describes a failure.
     *
     * @param operation the operation, for example {@code READ of 4096 bytes}
     * @param peer the peer's address
     * @param status completion status
     * @param vendorError the device vendor's own number, 0 if none
     */
    public WorkFailedException(String operation, String peer, CompletionStatus status, int vendorError) {
        super(operation + ", peer " + peer + ": " + status + " (vendor error " + vendorError + ")"
                + (status.advice().isEmpty() ? "" : "; " + status.advice()));
        this.status = status;
        this.vendorError = vendorError;
    }

    /** {@return how the request ended} */
    public CompletionStatus status() {
        return status;
    }

    /** {@return the device vendor's own number, 0 if none} */
    public int vendorError() {
        return vendorError;
    }
}
