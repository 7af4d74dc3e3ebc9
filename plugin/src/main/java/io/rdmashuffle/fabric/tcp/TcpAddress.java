// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.PeerUnreachableException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/**
 * Listening address of a process.
 *
 * <pre>
 *  offset  bytes  little-endian
 *       0      4  magic "RTA1"
 *       4      8  fabric id, drawn by the process at random
 *      12      2  port; 0 if the process does not listen
 *      14      4  speed of the network interface in Mb/s; 0 if it is not known
 *      18      2  length n of the host, 1 to 255
 *      20      n  host name or IP address, ASCII
 *    20+n      4  CRC32C of the bytes before
 * </pre>
 *
 * @param fabricId distinguishes this process from another one that listens there later
 * @param host name or IP address, resolved by the reader
 * @param port 0 if the process could not open a port
 * @param linkMegabits speed of the host's network interface in Mb/s; 0 if it is not known
 */
record TcpAddress(long fabricId, String host, int port, int linkMegabits) {
    private static final int MAGIC = 0x31415452;
    private static final int FIXED_BYTES = 20;
    private static final int CHECKSUM_BYTES = 4;
    private static final int MAX_HOST_BYTES = 255;

    TcpAddress {
        int length = host.getBytes(StandardCharsets.US_ASCII).length;
        if (length == 0 || length > MAX_HOST_BYTES || port < 0 || port > 0xFFFF || linkMegabits < 0) {
            throw new IllegalArgumentException(
                    "no such address: host '" + host + "', port " + port + ", " + linkMegabits + " Mb/s");
        }
    }

    byte[] encode() {
        byte[] name = host.getBytes(StandardCharsets.US_ASCII);
        ByteBuffer out = ByteBuffer.allocate(FIXED_BYTES + name.length + CHECKSUM_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(MAGIC)
                .putLong(fabricId)
                .putShort((short) port)
                .putInt(linkMegabits)
                .putShort((short) name.length)
                .put(name);
        return out.putInt(checksum(out.array())).array();
    }

    private static int checksum(byte[] encoded) {
        CRC32C checksum = new CRC32C();
        checksum.update(encoded, 0, encoded.length - CHECKSUM_BYTES);
        return (int) checksum.getValue();
    }

    /**
     * Reads an address.
     *
     * @throws PeerUnreachableException if these bytes are none
     */
    static TcpAddress decode(byte[] encoded) throws PeerUnreachableException {
        ByteBuffer in = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
        if (encoded.length < FIXED_BYTES + 1 + CHECKSUM_BYTES || in.getInt() != MAGIC) {
            throw new PeerUnreachableException("the peer's TCP address has an unknown version");
        }
        long fabricId = in.getLong();
        int port = Short.toUnsignedInt(in.getShort());
        int linkMegabits = in.getInt();
        int length = Short.toUnsignedInt(in.getShort());
        if (length == 0
                || length > MAX_HOST_BYTES
                || linkMegabits < 0
                || length != in.remaining() - CHECKSUM_BYTES
                || in.getInt(encoded.length - CHECKSUM_BYTES) != checksum(encoded)) {
            throw new PeerUnreachableException("the peer's TCP address is damaged");
        }
        return new TcpAddress(
                fabricId, new String(encoded, FIXED_BYTES, length, StandardCharsets.US_ASCII), port, linkMegabits);
    }
}
