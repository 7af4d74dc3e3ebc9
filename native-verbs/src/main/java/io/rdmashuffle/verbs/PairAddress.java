// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Address of a queue pair for the other side of a connection, exchanged over a socket for example.
 *
 * <pre>
 *  0       1     2     4            8                12       13         16            32
 *  +-------+-----+-----+------------+----------------+--------+----------+-------------+
 *  |version|MTU  |LID  |queue pair  |first sequence  |READs   |zero      |GID, or zeros|   big-endian
 *  |1      |code |     |number      |number          |served  |          |             |
 *  +-------+-----+-----+------------+----------------+--------+----------+-------------+
 * </pre>
 *
 * <p>The MTU code is that of InfiniBand: 1 to 5 for 256 to 4096 bytes.
 *
 * <p><b>Threading:</b> immutable.
 *
 * <p><b>Source:</b> what ibv_rc_pingpong(1) exchanges, with MTU and depth.
 *
 * @param number of the queue pair, 24 bits
 * @param firstSequence number of the first packet that it sends (PSN), 24 bits
 * @param lid the port's LID, 16 bits; 0 on Ethernet
 * @param gid the port's global identifier; null if it has none that is meant to be used
 * @param mtuBytes most payload of one packet: 256, 512, 1024, 2048, 4096
 * @param responderResources READs and atomics that this side serves at once, 0 to 255
 */
public record PairAddress(
        int number, int firstSequence, int lid, @Nullable InetAddress gid, int mtuBytes, int responderResources) {
    /** Length of an encoded address. */
    public static final int ENCODED_BYTES = 32;

    private static final byte VERSION = 1;

    /**
     * Checks the ranges.
     *
     * @param number 24 bits
     * @param firstSequence 24 bits
     * @param lid 16 bits
     * @param gid any or null
     * @param mtuBytes 256, 512, 1024, 2048 or 4096
     * @param responderResources 8 bits
     * @throws IllegalArgumentException if a number has more bits than it may
     */
    public PairAddress {
        if (number >>> 24 != 0 || firstSequence >>> 24 != 0 || lid >>> 16 != 0 || responderResources >>> 8 != 0) {
            throw new IllegalArgumentException("queue pair number " + number + ", first sequence number "
                    + firstSequence + ", LID " + lid + ", " + responderResources
                    + " READs: must have at most 24, 24, 16 and 8 bits");
        }
        PortAttributes.mtu(mtuBytes);
    }

    /** {@return the address as {@link #ENCODED_BYTES} bytes} */
    public byte[] encode() {
        return ByteBuffer.allocate(ENCODED_BYTES)
                .put(VERSION)
                .put((byte) PortAttributes.mtu(mtuBytes))
                .putShort((short) lid)
                .putInt(number)
                .putInt(firstSequence)
                .put((byte) responderResources)
                .put(new byte[3])
                .put(gid == null ? new byte[GidEntry.BYTES] : GidEntry.bytes(gid))
                .array();
    }

    /**
     * Decodes what {@link #encode()} wrote.
     *
     * @param encoded {@link #ENCODED_BYTES} bytes
     * @return the address
     * @throws IllegalArgumentException if they are no address of this version
     */
    public static PairAddress decode(byte[] encoded) {
        if (encoded.length != ENCODED_BYTES || encoded[0] != VERSION) {
            throw new IllegalArgumentException("address of " + encoded.length + " bytes"
                    + (encoded.length == 0 ? "" : ", version " + encoded[0]) + ": must be " + ENCODED_BYTES
                    + " bytes, version " + VERSION);
        }
        ByteBuffer buffer = ByteBuffer.wrap(encoded, 1, ENCODED_BYTES - 1);
        int mtu = buffer.get();
        if (mtu < PortAttributes.mtu(PortAttributes.MIN_MTU_BYTES)
                || mtu > PortAttributes.mtu(PortAttributes.MAX_MTU_BYTES)) {
            throw new IllegalArgumentException("MTU code " + mtu + ": must be from 1 to 5");
        }
        int lid = Short.toUnsignedInt(buffer.getShort());
        int number = buffer.getInt();
        int firstSequence = buffer.getInt();
        int responderResources = Byte.toUnsignedInt(buffer.get());
        byte[] gid = new byte[GidEntry.BYTES];
        buffer.position(ENCODED_BYTES - GidEntry.BYTES).get(gid);
        return new PairAddress(number, firstSequence, lid, gid(gid), PortAttributes.mtuBytes(mtu), responderResources);
    }

    private static @Nullable InetAddress gid(byte[] bytes) {
        for (byte each : bytes) {
            if (each != 0) {
                try {
                    return InetAddress.getByAddress(bytes);
                } catch (UnknownHostException e) {
                    throw new IllegalStateException("16 bytes are always an address", e);
                }
            }
        }
        return null;
    }
}
