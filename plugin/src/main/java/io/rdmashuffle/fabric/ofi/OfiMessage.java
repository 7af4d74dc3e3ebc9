// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.PeerUnreachableException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Messages between endpoints: a reader asks for the key of a region, its owner answers.
 *
 * <pre>
 *  offset  bytes  little-endian
 *       0      4  magic "ROQ1" of a query, "ROA1" of an answer
 *       4      8  number of the query, which the answer repeats
 *       query                                     answer
 *      12      8  fabric id of the reader        12      4  status
 *      20      8  fabric id of the owner         16      4  region
 *      28      4  region                         20      8  what reads call its first byte
 *      32      4  format of the reader's name    28      8  length
 *      36      2  length n of the name           36      8  key
 *      38      n  name of the reader's endpoint
 * </pre>
 *
 * Nothing here is authenticated: see {@code SECURITY.md}.
 */
sealed interface OfiMessage {
    /** Room for a message. */
    int MAX_BYTES = 256;

    int QUERY = 0x31514F52;
    int ANSWER = 0x31414F52;

    /** Number that an answer repeats. */
    long number();

    /** Writes this into a buffer. */
    void encode(ByteBuffer out);

    /** What the owner says. */
    enum Status {
        READABLE(0),
        /** The region has been released, or never was. */
        ABSENT(1),
        /** The reader has left the membership. */
        REVOKED(2),
        /** The owner has another fabric id. */
        OTHER_PROCESS(3);

        private final int code;

        Status(int code) {
            this.code = code;
        }

        int code() {
            return code;
        }

        static Status of(int code) throws PeerUnreachableException {
            for (Status each : values()) {
                if (each.code == code) {
                    return each;
                }
            }
            throw new PeerUnreachableException("an answer of status " + code);
        }
    }

    /** Asks for a region. */
    record Query(long number, long reader, long owner, int regionId, OfiAddress.Endpoint answerTo)
            implements OfiMessage {
        @Override
        public void encode(ByteBuffer out) {
            out.putInt(QUERY)
                    .putLong(number)
                    .putLong(reader)
                    .putLong(owner)
                    .putInt(regionId)
                    .putInt(answerTo.format())
                    .putShort((short) answerTo.name().length())
                    .put(answerTo.bytes());
        }
    }

    /** The key of a region. */
    record Answer(long number, Status status, int regionId, long base, long lengthBytes, long key)
            implements OfiMessage {
        @Override
        public void encode(ByteBuffer out) {
            out.putInt(ANSWER)
                    .putLong(number)
                    .putInt(status.code())
                    .putInt(regionId)
                    .putLong(base)
                    .putLong(lengthBytes)
                    .putLong(key);
        }
    }

    /**
     * Reads a message.
     *
     * @throws PeerUnreachableException if these bytes are none
     */
    static OfiMessage decode(ByteBuffer in) throws PeerUnreachableException {
        in.order(ByteOrder.LITTLE_ENDIAN);
        try {
            int magic = in.getInt();
            long number = in.getLong();
            if (magic == QUERY) {
                long reader = in.getLong();
                long owner = in.getLong();
                int regionId = in.getInt();
                int format = in.getInt();
                int length = in.getShort();
                if (length <= 0 || length > in.remaining()) {
                    throw new PeerUnreachableException("a name of " + length + " bytes");
                }
                byte[] name = new byte[length];
                in.get(name);
                return new Query(number, reader, owner, regionId, OfiAddress.Endpoint.of(format, name));
            }
            if (magic == ANSWER) {
                Status status = Status.of(in.getInt());
                return new Answer(number, status, in.getInt(), in.getLong(), in.getLong(), in.getLong());
            }
        } catch (BufferUnderflowException e) {
            throw new PeerUnreachableException("a message that ends early", e);
        }
        throw new PeerUnreachableException("a message of unknown version");
    }
}
