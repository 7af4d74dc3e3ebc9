// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A one-sided read that did not happen; another path may still bring the bytes. */
public final class ReadFailedException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Why a read failed. */
    public enum Reason {
        /** This process or the peer has no room for the bytes; nothing is wrong with the peer. */
        NO_ROOM(false),
        /** The bytes are in the peer's disk tier no more, or its disk does not give them; other bytes can be read. */
        UNREADABLE(false),
        /**
         * There was no connection to the peer in time. That is so for many at once while a fleet starts, or for one
         * whose request was lost: the fabric tries again by itself, and says when reads should not wait for it.
         */
        NOT_CONNECTED(false),
        /** The deadline passed first. */
        TIMED_OUT(true),
        /** The peer's memory is not there any more. */
        PEER_GONE(true),
        /** The peer has given the region back: nothing that it has published is there, and nothing is wrong with it. */
        REGION_ABSENT(false),
        /** The range is not inside the peer's region. */
        OUT_OF_BOUNDS(true),
        /** Peer or fabric was closed on this side. */
        CLOSED(true),
        /** Device, driver or kernel reported an error. */
        TRANSPORT_ERROR(true);

        private final boolean faultOfPath;

        Reason(boolean faultOfPath) {
            this.faultOfPath = faultOfPath;
        }

        /** Returns whether other reads on the same path can be expected to fail, too. */
        public boolean isFaultOfPath() {
            return faultOfPath;
        }

        /** Returns whether other reads on the same path would now fail or wait as long, whoever is to blame. */
        public boolean concernsPath() {
            return faultOfPath || this == NOT_CONNECTED;
        }
    }

    private final Reason reason;

    /** Describes a failure. */
    public ReadFailedException(Reason reason, String message) {
        this(reason, message, null);
    }

    /** Describes a failure; the cause may be null. */
    public ReadFailedException(Reason reason, String message, @Nullable Throwable cause) {
        super(reason + ": " + message, cause);
        this.reason = reason;
    }

    /** Returns the reason. */
    public Reason reason() {
        return reason;
    }
}
