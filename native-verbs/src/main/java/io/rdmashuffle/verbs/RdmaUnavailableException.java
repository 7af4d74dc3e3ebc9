package io.rdmashuffle.verbs;

/** There is no RDMA to be had on this machine; the message says in one line why, and what would change it. */
public final class RdmaUnavailableException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Says why. */
    public RdmaUnavailableException(String reason) {
        super(reason);
    }

    /** Says why, and keeps what was caught. */
    public RdmaUnavailableException(String reason, Throwable cause) {
        super(reason, cause);
    }
}
