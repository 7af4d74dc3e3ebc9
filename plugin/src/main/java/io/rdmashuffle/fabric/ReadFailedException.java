// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.io.IOException;

/** A one-sided read that did not happen; another path may still bring the bytes. */
public final class ReadFailedException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Why a read failed. */
    public enum Reason {
        /** This process has no room for the bytes; nothing is wrong with the peer. */
        NO_ROOM,
        /** The deadline passed first. */
        TIMED_OUT,
        /** The peer's memory is not there any more. */
        PEER_GONE,
        /** The peer has given the region back: nothing that it has published is there, and nothing is wrong with it. */
        REGION_ABSENT,
        /** The range is not inside the peer's region. */
        OUT_OF_BOUNDS,
        /** Peer or fabric was closed on this side. */
        CLOSED,
        /** Device, driver or kernel reported an error. */
        TRANSPORT_ERROR
    }

    private final Reason reason;

    /** Describes a failure. */
    public ReadFailedException(Reason reason, String message) {
        super(reason + ": " + message);
        this.reason = reason;
    }

    /** Describes a failure and keeps what was caught. */
    public ReadFailedException(Reason reason, String message, Throwable cause) {
        super(reason + ": " + message, cause);
        this.reason = reason;
    }

    /** Returns why. */
    public Reason reason() {
        return reason;
    }
}
