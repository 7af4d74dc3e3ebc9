// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Message between {@link RemoteMemory} and {@link MemoryServer}: each request has one answer with its id.
 *
 * <pre>
 *  0      4      8         16        24     28      32            128
 *  +------+------+---------+---------+------+-------+-------------+
 *  | type | id   | address | length  | rkey | bytes | text, UTF-8 |   big-endian
 *  +------+------+---------+---------+------+-------+-------------+
 * </pre>
 *
 * @param type kind of request or answer
 * @param id id of the allocation, chosen by the client
 * @param region the requested length, or the granted memory
 * @param text reason of a refusal
 */
record MemoryMessage(Type type, int id, RemoteRegion region, String text) {
    static final int BYTES = 128;
    private static final int TEXT = 32;
    private static final RemoteRegion NONE = new RemoteRegion(0, 0, 0);

    /** Kinds of messages. */
    enum Type {
        /** Requests memory. */
        ALLOCATE(1),
        /** Releases memory. */
        FREE(2),
        /** Grants memory. */
        GRANTED(3),
        /** Refuses memory. */
        REFUSED(4),
        /** Confirms that memory was freed. */
        FREED(5);

        private final int number;

        Type(int number) {
            this.number = number;
        }

        static Type of(int number) {
            for (Type type : values()) {
                if (type.number == number) {
                    return type;
                }
            }
            throw new IllegalArgumentException("message of type " + number);
        }
    }

    static MemoryMessage allocate(int id, long lengthBytes) {
        return new MemoryMessage(Type.ALLOCATE, id, new RemoteRegion(0, lengthBytes, 0), "");
    }

    static MemoryMessage free(int id) {
        return new MemoryMessage(Type.FREE, id, NONE, "");
    }

    static MemoryMessage granted(int id, RemoteRegion region) {
        return new MemoryMessage(Type.GRANTED, id, region, "");
    }

    static MemoryMessage refused(int id, String why) {
        return new MemoryMessage(Type.REFUSED, id, NONE, why);
    }

    static MemoryMessage freed(int id) {
        return new MemoryMessage(Type.FREED, id, NONE, "");
    }

    /** Returns {@link #BYTES} bytes; of a longer text the end is lost. */
    byte[] encode() {
        byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(encoded.length, BYTES - TEXT);
        return ByteBuffer.allocate(BYTES)
                .putInt(type.number)
                .putInt(id)
                .put(region.encode())
                .putInt(length)
                .put(encoded, 0, length)
                .array();
    }

    /**
     * Decodes what any peer may have sent.
     *
     * @param encoded {@link #BYTES} bytes
     * @throws IllegalArgumentException if they are no message
     */
    static MemoryMessage decode(byte[] encoded) {
        ByteBuffer buffer = ByteBuffer.wrap(encoded);
        Type type = Type.of(buffer.getInt());
        int id = buffer.getInt();
        RemoteRegion region = new RemoteRegion(buffer.getLong(), buffer.getLong(), buffer.getInt());
        int length = buffer.getInt();
        if (length < 0 || length > BYTES - TEXT) {
            throw new IllegalArgumentException("text of " + length + " bytes");
        }
        String text = new String(encoded, TEXT, length, StandardCharsets.UTF_8);
        return new MemoryMessage(type, id, region, text.replaceAll("\\p{Cntrl}", "?"));
    }
}
