package io.rdmashuffle.verbs;

import java.io.IOException;

/** A work request that did not complete: which operation, with whom, how it ended, and what that usually means. */
public final class WorkFailedException extends IOException {
    private static final long serialVersionUID = 1L;

    private final CompletionStatus status;
    private final int vendorError;

    /**
     * Describes a failure.
     *
     * @param operation what was asked for, for example {@code READ of 4096 bytes}
     * @param peer who was asked
     * @param vendorError the device maker's own number, 0 if none
     */
    public WorkFailedException(String operation, String peer, CompletionStatus status, int vendorError) {
        super(operation + ", peer " + peer + ": " + status + " (vendor error " + vendorError + ")"
                + (status.advice().isEmpty() ? "" : "; " + status.advice()));
        this.status = status;
        this.vendorError = vendorError;
    }

    /** Returns how it ended. */
    public CompletionStatus status() {
        return status;
    }

    /** Returns the device maker's own number. */
    public int vendorError() {
        return vendorError;
    }
}
