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

    /** Checks the length. */
    public RemoteRegion {
        if (lengthBytes < 0) {
            throw new IllegalArgumentException("length of " + lengthBytes + " bytes");
        }
    }

    /**
     * Returns a part.
     *
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public RemoteRegion slice(long offset, long length) {
        return new RemoteRegion(address + Objects.checkFromIndexSize(offset, length, lengthBytes), length, remoteKey);
    }

    /** Returns the description as bytes, to be sent to a peer. */
    public byte[] encode() {
        return ByteBuffer.allocate(ENCODED_BYTES)
                .putLong(address)
                .putLong(lengthBytes)
                .putInt(remoteKey)
                .array();
    }

    /**
     * Reads what {@link #encode()} wrote; further bytes are ignored.
     *
     * @throws IllegalArgumentException if it is too short
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
