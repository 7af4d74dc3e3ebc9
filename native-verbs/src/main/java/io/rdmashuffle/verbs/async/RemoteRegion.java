// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * A piece of a peer's registered memory: what a peer must be told to read or write it.
 *
 * <pre>
 *  0        8         16     20
 *  +--------+---------+------+
 *  |address |length   |rkey  |   big-endian
 *  +--------+---------+------+
 * </pre>
 *
 * @param address first byte, as the peer's process sees it
 * @param lengthBytes length
 * @param remoteKey the peer's rkey
 */
public record RemoteRegion(long address, long lengthBytes, int remoteKey) {
    /** Length of an encoded description. */
    public static final int ENCODED_BYTES = Long.BYTES + Long.BYTES + Integer.BYTES;

    /**
     * Checks the length.
     *
     * @param address any
     * @param lengthBytes at least 0
     * @param remoteKey any
     * @throws IllegalArgumentException if the length is negative
     */
    public RemoteRegion {
        if (lengthBytes < 0) {
            throw new IllegalArgumentException("length of " + lengthBytes + " bytes");
        }
    }

    /**
     * {@return a part of this region}
     *
     * @param offset of its first byte in this region
     * @param length bytes
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public RemoteRegion slice(long offset, long length) {
        return new RemoteRegion(address + Objects.checkFromIndexSize(offset, length, lengthBytes), length, remoteKey);
    }

    /** {@return the description as {@link #ENCODED_BYTES} bytes, to be sent to a peer} */
    public byte[] encode() {
        return ByteBuffer.allocate(ENCODED_BYTES)
                .putLong(address)
                .putLong(lengthBytes)
                .putInt(remoteKey)
                .array();
    }

    /**
     * Decodes what {@link #encode()} wrote.
     *
     * @param encoded the description; further bytes are ignored
     * @return the region
     * @throws IllegalArgumentException if there are too few bytes
     */
    public static RemoteRegion decode(byte[] encoded) {
        if (encoded.length < ENCODED_BYTES) {
            throw new IllegalArgumentException(
                    "description of " + encoded.length + " bytes: must be at least " + ENCODED_BYTES);
        }
        ByteBuffer buffer = ByteBuffer.wrap(encoded);
        return new RemoteRegion(buffer.getLong(), buffer.getLong(), buffer.getInt());
    }

    @Override
    public String toString() {
        return lengthBytes + " bytes at 0x" + Long.toHexString(address) + " rkey 0x" + Integer.toHexString(remoteKey);
    }
}
