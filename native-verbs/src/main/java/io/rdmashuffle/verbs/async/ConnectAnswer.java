// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.ConnectionParameters;
import java.nio.charset.StandardCharsets;

/**
 * Answer of a listener to a {@link ConnectRequest}.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class ConnectAnswer {
    /** Longest reason for a refusal, in bytes of UTF-8. */
    public static final int MAX_REASON_BYTES = 148;

    private final boolean accepted;
    private final byte[] privateData;

    private ConnectAnswer(boolean accepted, byte[] privateData) {
        this.accepted = accepted;
        this.privateData = privateData;
    }

    /** {@return the answer that makes the connection} */
    public static ConnectAnswer accept() {
        return accept(new byte[0]);
    }

    /**
     * {@return the answer that makes the connection}
     *
     * @param privateData for the peer's {@link RdmaConnection#peerData()}; at most
     *     {@value ConnectionParameters#MAX_ANSWER_BYTES} bytes, copied
     * @throws IllegalArgumentException if it is longer
     */
    public static ConnectAnswer accept(byte[] privateData) {
        requireAtMost(ConnectionParameters.MAX_ANSWER_BYTES, privateData.length, "private data of an answer");
        return new ConnectAnswer(true, privateData.clone());
    }

    /**
     * {@return the answer that refuses; the peer's future fails with a {@link RdmaRefusedException}}
     *
     * @param reason for the peer; at most {@link #MAX_REASON_BYTES} in UTF-8
     * @throws IllegalArgumentException if it is longer
     */
    public static ConnectAnswer refuse(String reason) {
        byte[] encoded = reason.getBytes(StandardCharsets.UTF_8);
        requireAtMost(MAX_REASON_BYTES, encoded.length, "reason of a refusal");
        return new ConnectAnswer(false, encoded);
    }

    static void requireAtMost(int most, int length, String what) {
        if (length > most) {
            throw new IllegalArgumentException(what + " of " + length + " bytes: at most " + most);
        }
    }

    boolean accepted() {
        return accepted;
    }

    /** Returns the bytes for the peer. */
    byte[] privateData() {
        return privateData;
    }
}
