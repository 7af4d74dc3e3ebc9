// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.ffi.RawMemory;
import java.io.IOException;
import java.util.Arrays;

/**
 * Payload that depends on the message number: each byte differs from the same byte of the previous message, so that a
 * missing transfer is detected.
 *
 * <p><b>Threading:</b> one thread.
 */
final class Payload {
    /** Messages until the bytes come again. */
    private static final int PERIOD = 251;

    private final int bytes;
    private final byte[] pattern;
    private final byte[] seen;

    Payload(int bytes) {
        this.bytes = bytes;
        this.seen = new byte[bytes];
        this.pattern = new byte[bytes + PERIOD];
        for (int i = 0; i < pattern.length; i++) {
            // Neighbours differ by 31 or 32, and so do the bytes of two messages.
            pattern[i] = (byte) (31 * i + (i >>> 8));
        }
    }

    /** Writes the bytes of a message; the caller keeps the memory alive. */
    void put(int message, long address) {
        RawMemory.putBytes(address, pattern, message % PERIOD, bytes);
    }

    /**
     * Compares every byte; the caller keeps the memory alive.
     *
     * @throws IOException naming the first one that is wrong
     */
    void check(int message, long address) throws IOException {
        RawMemory.getBytes(address, seen, 0, bytes);
        int from = message % PERIOD;
        int wrong = Arrays.mismatch(seen, 0, bytes, pattern, from, from + bytes);
        if (wrong >= 0) {
            throw new IOException("message " + message + " came back damaged: byte " + wrong + " of " + bytes + " is "
                    + Byte.toUnsignedInt(seen[wrong]) + ", and was sent as "
                    + Byte.toUnsignedInt(pattern[from + wrong]));
        }
    }
}
