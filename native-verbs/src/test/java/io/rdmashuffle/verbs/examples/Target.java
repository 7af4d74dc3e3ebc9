// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The server's memory, as the answer to a client's request tells it.
 *
 * <pre>
 *  0        4        12       16
 *  +--------+--------+--------+
 *  | "RDT1" | address| rkey   |   big-endian
 *  +--------+--------+--------+
 * </pre>
 */
record Target(long address, int remoteKey) {
    private static final int MAGIC = 0x52445431;
    private static final int ENCODED_BYTES = 16;

    byte[] encode() {
        return ByteBuffer.allocate(ENCODED_BYTES)
                .putInt(MAGIC)
                .putLong(address)
                .putInt(remoteKey)
                .array();
    }

    static Target decode(byte[] told) throws IOException {
        ByteBuffer answer = ByteBuffer.wrap(told);
        if (told.length < ENCODED_BYTES || answer.getInt() != MAGIC) {
            throw new IOException("the server's answer is not one of this version of Bandwidth");
        }
        return new Target(answer.getLong(), answer.getInt());
    }
}
