// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.PeerUnreachableException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Addresses at which a process listens for queue pairs.
 *
 * <pre>
 *  offset  bytes  little-endian
 *       0      4  magic "RDM1"
 *       4      8  fabric id, drawn by the process at random
 *      12      2  number of rails n, 1 to 16
 *      14   n*20  rails: 2 bytes port, 2 bytes length of the address (4 or 16), 16 bytes address, network order
 *  14+n*20     4  CRC32C of the bytes before
 * </pre>
 *
 * @param fabricId tells this process from another one that listens there later
 * @param rails one address per port that the process uses
 */
record VerbsAddress(long fabricId, List<InetSocketAddress> rails) {
    private static final int MAGIC = 0x314D4452;
    private static final int FIXED_BYTES = 14;
    private static final int RAIL_BYTES = 20;
    private static final int MAX_RAILS = 16;
    private static final int CHECKSUM_BYTES = 4;

    VerbsAddress {
        rails = List.copyOf(rails);
        if (rails.isEmpty() || rails.size() > MAX_RAILS) {
            throw new IllegalArgumentException(rails.size() + " rails: must be 1 to " + MAX_RAILS);
        }
    }

    byte[] encode() {
        ByteBuffer out = ByteBuffer.allocate(FIXED_BYTES + rails.size() * RAIL_BYTES + CHECKSUM_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(MAGIC)
                .putLong(fabricId)
                .putShort((short) rails.size());
        for (InetSocketAddress rail : rails) {
            byte[] address = rail.getAddress().getAddress();
            out.putShort((short) rail.getPort()).putShort((short) address.length);
            out.put(address).position(out.position() + 16 - address.length);
        }
        return out.putInt(checksum(out.array())).array();
    }

    private static int checksum(byte[] encoded) {
        CRC32C checksum = new CRC32C();
        checksum.update(encoded, 0, encoded.length - CHECKSUM_BYTES);
        return (int) checksum.getValue();
    }

    static VerbsAddress decode(byte[] encoded) throws PeerUnreachableException {
        ByteBuffer in = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
        if (encoded.length < FIXED_BYTES + CHECKSUM_BYTES || in.getInt() != MAGIC) {
            throw new PeerUnreachableException("the peer's verbs address has an unknown version");
        }
        long fabricId = in.getLong();
        int count = in.getShort();
        boolean sound = count >= 1
                && count <= MAX_RAILS
                && in.remaining() == count * RAIL_BYTES + CHECKSUM_BYTES
                && in.getInt(encoded.length - CHECKSUM_BYTES) == checksum(encoded);
        if (!sound) {
            throw new PeerUnreachableException("the peer's verbs address is damaged");
        }
        List<InetSocketAddress> rails = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int port = Short.toUnsignedInt(in.getShort());
            int length = in.getShort();
            if (port == 0 || (length != 4 && length != 16)) {
                throw new PeerUnreachableException(
                        "the peer's verbs address is damaged: port " + port + ", IP address of " + length + " bytes");
            }
            byte[] address = new byte[length];
            in.get(address).position(in.position() + 16 - address.length);
            try {
                rails.add(new InetSocketAddress(InetAddress.getByAddress(address), port));
            } catch (UnknownHostException e) {
                throw new PeerUnreachableException("the peer's verbs address is damaged", e);
            }
        }
        return new VerbsAddress(fabricId, rails);
    }
}
