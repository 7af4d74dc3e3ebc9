// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.verbs.ConnectionParameters;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Messages in the private data of a connection, by which each of two processes proves that it knows the
 * application's secret.
 *
 * <pre>
 *  request, 56 bytes, little-endian           answer, 36 bytes
 *   0   4  magic "RSH2"                        0   4  magic "RSA2"
 *   4   8  fabric id of the client             4  32  HMAC(secret, "answer" + request + ends)
 *  12   8  fabric id of the server
 *  20   4  lane of the client
 *  24  16  nonce                              refusal: 4 bytes magic "RSN1", 4 bytes Refusal
 *  40  16  HMAC(secret, "request" + bytes 0..39 + ends), cut
 * </pre>
 *
 * <p>The request proves the secret to the server before that hands out an rkey; the answer proves it to the client
 * before that trusts a byte that it reads. Both prove it for one connection, between two addresses and with one queue
 * pair of the sender ({@link ConnectionEnds}), so that recorded messages are useless on another connection. Without
 * {@code spark.authenticate} the proofs are zeros.
 *
 * @param from fabric id of the client, the process that connects
 * @param to fabric id of the process whose pool is meant: the server, or one that has ended and whose pool it serves;
 *     any other server refuses
 * @param lane which of its queue pairs to that peer this is
 * @param encoded the whole request
 */
@SuppressWarnings("ArrayRecordComponent") // never changed after it was made
record Handshake(long from, long to, int lane, byte[] encoded) {
    private static final int REQUEST_MAGIC = 0x32485352;
    private static final int ANSWER_MAGIC = 0x32415352;
    private static final int REFUSAL_MAGIC = 0x314E5352;
    private static final int NONCE_OFFSET = 24;
    private static final int NONCE_BYTES = 16;
    private static final int PROOF_OFFSET = 40;
    private static final int ANSWER_BYTES = 36;
    private static final byte[] REQUEST_LABEL = {'r', 'e', 'q', 'u', 'e', 's', 't'};
    private static final byte[] ANSWER_LABEL = {'a', 'n', 's', 'w', 'e', 'r'};
    private static final SecureRandom RANDOM = new SecureRandom();

    /** Why a request is refused; the number travels. */
    enum Refusal {
        NOT_A_HANDSHAKE("it does not speak this version of the protocol"),
        ANOTHER_PROCESS("another process listens there now"),
        NOT_PROVEN("it does not know this application's secret (spark.authenticate)"),
        TOO_MANY("it serves as many peers as it can"),
        NOT_READY("it is shutting down"),
        NOT_A_MEMBER("it has been told that this executor left the application");

        private static final Refusal[] BY_NUMBER = values();

        private final String meaning;

        Refusal(String meaning) {
            this.meaning = meaning;
        }

        String meaning() {
            return meaning;
        }
    }

    /** Draws a nonce and writes a request. */
    static Handshake request(long from, long to, int lane, Secret secret, ConnectionEnds ends) {
        byte[] nonce = new byte[NONCE_BYTES];
        RANDOM.nextBytes(nonce);
        ByteBuffer out = ByteBuffer.allocate(ConnectionParameters.MAX_REQUEST_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(REQUEST_MAGIC)
                .putLong(from)
                .putLong(to)
                .putInt(lane)
                .put(nonce);
        byte[] proof = secret.proof(REQUEST_LABEL, Arrays.copyOf(out.array(), PROOF_OFFSET), ends.encoded());
        out.put(proof, 0, ConnectionParameters.MAX_REQUEST_BYTES - PROOF_OFFSET);
        return new Handshake(from, to, lane, out.array());
    }

    /** Reads a request; null if it is none. */
    static @Nullable Handshake read(byte[] privateData) {
        if (privateData.length < ConnectionParameters.MAX_REQUEST_BYTES) {
            return null;
        }
        byte[] encoded = Arrays.copyOf(privateData, ConnectionParameters.MAX_REQUEST_BYTES);
        ByteBuffer in = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
        return in.getInt() == REQUEST_MAGIC ? new Handshake(in.getLong(), in.getLong(), in.getInt(), encoded) : null;
    }

    /**
     * Returns whether the client knows the secret.
     *
     * @param ends those of the connection by which the request came
     */
    boolean isProven(Secret secret, ConnectionEnds ends) {
        byte[] proof = secret.proof(REQUEST_LABEL, Arrays.copyOf(encoded, PROOF_OFFSET), ends.encoded());
        return MessageDigest.isEqual(
                Arrays.copyOf(proof, encoded.length - PROOF_OFFSET),
                Arrays.copyOfRange(encoded, PROOF_OFFSET, encoded.length));
    }

    /** Returns the nonce, by which a request that is played back is recognised. */
    ByteBuffer nonce() {
        return ByteBuffer.wrap(Arrays.copyOfRange(encoded, NONCE_OFFSET, NONCE_OFFSET + NONCE_BYTES));
    }

    /** Writes the answer to this request. */
    byte[] answer(Secret secret, ConnectionEnds ends) {
        return ByteBuffer.allocate(ANSWER_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(ANSWER_MAGIC)
                .put(secret.proof(ANSWER_LABEL, encoded, ends.encoded()))
                .array();
    }

    /** Returns whether this is the answer to this request, from one who knows the secret. */
    boolean isAnsweredBy(byte[] privateData, Secret secret, ConnectionEnds ends) {
        return privateData.length >= ANSWER_BYTES
                && MessageDigest.isEqual(answer(secret, ends), Arrays.copyOf(privateData, ANSWER_BYTES));
    }

    /** Writes a refusal. */
    static byte[] refusal(Refusal refusal) {
        return ByteBuffer.allocate(8)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(REFUSAL_MAGIC)
                .putInt(Arrays.asList(Refusal.BY_NUMBER).indexOf(refusal))
                .array();
    }

    /** Returns the meaning of a rejection's private data. */
    static String meaningOf(byte[] privateData) {
        ByteBuffer in = ByteBuffer.wrap(privateData).order(ByteOrder.LITTLE_ENDIAN);
        if (privateData.length >= 8 && in.getInt() == REFUSAL_MAGIC) {
            int number = in.getInt();
            if (number >= 0 && number < Refusal.BY_NUMBER.length) {
                return Refusal.BY_NUMBER[number].meaning();
            }
        }
        return "no process listens there, or the device refused the connection";
    }
}
