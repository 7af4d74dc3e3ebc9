// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Secret;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Three messages at the start of a connection, by which both ends prove that they know the application's secret.
 *
 * <pre>
 *  challenge of the owner, 20 bytes, little-endian
 *    0   4  magic "RTC1"
 *    4  16  nonce of the owner
 *  hello of the reader, 68 bytes
 *    0   4  magic "RTH1"
 *    4   8  fabric id of the reader
 *   12   8  fabric id of the owner that is meant, or of the ended process whose pool it serves
 *   20  16  nonce of the reader
 *   36  32  HMAC(secret, "reader" + challenge + bytes 0..35)
 *  answer of the owner, 40 bytes
 *    0   4  magic "RTW1"
 *    4   4  {@link Verdict}
 *    8  32  HMAC(secret, "owner" + challenge + hello + bytes 0..7); zeros if the reader has not proven itself
 * </pre>
 *
 * <p>The owner serves no request before the hello is proven; the reader sends none and trusts no byte before the answer
 * is. Both nonces are fresh, so that a recorded handshake proves nothing. The proofs name both processes, not their IP
 * addresses, which differ between the ends behind address translation. Without {@code spark.authenticate} the proofs
 * are zeros.
 *
 * <p><b>Threading:</b> stateless.
 */
final class TcpHandshake {
    static final int CHALLENGE_BYTES = 20;
    static final int HELLO_BYTES = 68;
    static final int ANSWER_BYTES = 40;

    private static final int CHALLENGE_MAGIC = 0x31435452;
    private static final int HELLO_MAGIC = 0x31485452;
    private static final int ANSWER_MAGIC = 0x31575452;
    private static final int NONCE_BYTES = 16;
    private static final int HELLO_PROVEN_BYTES = 36;
    private static final int ANSWER_PROVEN_BYTES = 8;
    private static final byte[] READER = {'r', 'e', 'a', 'd', 'e', 'r'};
    private static final byte[] OWNER = {'o', 'w', 'n', 'e', 'r'};
    private static final SecureRandom RANDOM = new SecureRandom();

    /** Answer to a hello; the number travels. */
    enum Verdict {
        ACCEPTED(0, "accepted", "accepted"),
        NOT_A_HELLO(1, "it runs another version of the plugin", "no executor with this version of the plugin"),
        NOT_PROVEN(2, "the secrets differ (spark.authenticate)", "the secrets differ (spark.authenticate)"),
        ANOTHER_PROCESS(3, "another process listens there now", "it looks for a process that used this port before"),
        NOT_A_MEMBER(4, "the driver has removed this executor", "an executor that the driver has removed");

        private static final Verdict[] BY_NUMBER = values();

        private final int number;
        private final String meaning;
        private final String meaningForOwner;

        Verdict(int number, String meaning, String meaningForOwner) {
            this.number = number;
            this.meaning = meaning;
            this.meaningForOwner = meaningForOwner;
        }

        int number() {
            return number;
        }

        /** Returns a verdict by its number; null if this version does not know it. */
        static @Nullable Verdict of(int number) {
            for (Verdict verdict : BY_NUMBER) {
                if (verdict.number == number) {
                    return verdict;
                }
            }
            return null;
        }

        String meaning() {
            return meaning;
        }

        /** Returns the reason for the log of the owner, which refused the reader. */
        String meaningForOwner() {
            return meaningForOwner;
        }
    }

    private TcpHandshake() {}

    /** Draws a nonce and writes a challenge. */
    static byte[] challenge() {
        return ByteBuffer.allocate(CHALLENGE_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(CHALLENGE_MAGIC)
                .put(nonce())
                .array();
    }

    /** Returns whether these bytes are a challenge of this version of the protocol. */
    static boolean isChallenge(byte[] bytes) {
        return little(bytes).getInt(0) == CHALLENGE_MAGIC;
    }

    /** Writes the hello that answers a challenge. */
    static byte[] hello(long reader, long owner, byte[] challenge, Secret secret) {
        ByteBuffer out = ByteBuffer.allocate(HELLO_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(HELLO_MAGIC)
                .putLong(reader)
                .putLong(owner)
                .put(nonce());
        return out.put(helloProof(out.array(), challenge, secret)).array();
    }

    /** Returns the fabric id of the reader that a hello names. */
    static long readerOf(byte[] hello) {
        return little(hello).getLong(4);
    }

    /** Returns the fabric id of the owner that a hello asks for. */
    static long ownerOf(byte[] hello) {
        return little(hello).getLong(12);
    }

    /**
     * Returns the answer to a hello.
     *
     * @param isServed whether the owner that it asks for is served here
     * @param isMember whether the reader is a member
     */
    static Verdict judge(byte[] hello, byte[] challenge, boolean isServed, boolean isMember, Secret secret) {
        ByteBuffer in = little(hello);
        if (in.getInt(0) != HELLO_MAGIC) {
            return Verdict.NOT_A_HELLO;
        }
        byte[] proof = Arrays.copyOfRange(hello, HELLO_PROVEN_BYTES, HELLO_BYTES);
        if (!MessageDigest.isEqual(proof, helloProof(hello, challenge, secret))) {
            return Verdict.NOT_PROVEN;
        }
        if (!isServed) {
            return Verdict.ANOTHER_PROCESS;
        }
        return isMember ? Verdict.ACCEPTED : Verdict.NOT_A_MEMBER;
    }

    /** Writes an answer; one to an unproven hello carries no proof. */
    static byte[] answer(Verdict verdict, byte[] hello, byte[] challenge, Secret secret) {
        ByteBuffer out = ByteBuffer.allocate(ANSWER_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(ANSWER_MAGIC)
                .putInt(verdict.number());
        if (verdict != Verdict.NOT_A_HELLO && verdict != Verdict.NOT_PROVEN) {
            out.put(answerProof(out.array(), hello, challenge, secret));
        }
        return out.array();
    }

    /** Returns the verdict of an answer; an acceptance that is not proven is {@link Verdict#NOT_PROVEN}. */
    static Verdict verdictOf(byte[] answer, byte[] hello, byte[] challenge, Secret secret) {
        ByteBuffer in = little(answer);
        Verdict verdict = Verdict.of(in.getInt(4));
        if (in.getInt(0) != ANSWER_MAGIC || verdict == null) {
            return Verdict.NOT_A_HELLO;
        }
        byte[] proof = Arrays.copyOfRange(answer, ANSWER_PROVEN_BYTES, ANSWER_BYTES);
        boolean proven = MessageDigest.isEqual(proof, answerProof(answer, hello, challenge, secret));
        return proven || verdict == Verdict.NOT_A_HELLO ? verdict : Verdict.NOT_PROVEN;
    }

    private static byte[] helloProof(byte[] hello, byte[] challenge, Secret secret) {
        return secret.proof(READER, challenge, Arrays.copyOf(hello, HELLO_PROVEN_BYTES));
    }

    private static byte[] answerProof(byte[] answer, byte[] hello, byte[] challenge, Secret secret) {
        return secret.proof(OWNER, challenge, hello, Arrays.copyOf(answer, ANSWER_PROVEN_BYTES));
    }

    private static byte[] nonce() {
        byte[] nonce = new byte[NONCE_BYTES];
        RANDOM.nextBytes(nonce);
        return nonce;
    }

    private static ByteBuffer little(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
