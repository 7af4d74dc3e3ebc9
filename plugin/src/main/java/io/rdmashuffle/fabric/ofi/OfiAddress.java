// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.PeerUnreachableException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Endpoints of a process.
 *
 * <pre>
 *  offset  bytes  little-endian
 *       0      4  magic "ROF1"
 *       4      8  fabric id, drawn by the process at random
 *      12      2  length p of the provider's name
 *      14      p  name of the provider, UTF-8
 *    14+p      2  number of endpoints, 1 to 16
 *                 for each: 4 bytes format, 2 bytes length n, n bytes name as libfabric gives it
 *     end      4  CRC32C of the bytes before
 * </pre>
 *
 * @param fabricId tells this process from another one that has its address later
 * @param provider of libfabric
 * @param endpoints one for each device that the process uses
 */
record OfiAddress(long fabricId, String provider, List<Endpoint> endpoints) {
    private static final int MAGIC = 0x31464F52;
    private static final int MAX_ENDPOINTS = 16;
    private static final int MAX_NAME_BYTES = 192;
    private static final int CHECKSUM_BYTES = 4;

    /**
     * An endpoint.
     *
     * @param format of the name; endpoints with other formats cannot reach it
     * @param name as libfabric gives it, a character for each byte
     */
    record Endpoint(int format, String name) {
        static Endpoint of(int format, byte[] name) {
            return new Endpoint(format, new String(name, StandardCharsets.ISO_8859_1));
        }

        byte[] bytes() {
            return name.getBytes(StandardCharsets.ISO_8859_1);
        }
    }

    OfiAddress {
        endpoints = List.copyOf(endpoints);
        boolean isSound = !endpoints.isEmpty()
                && endpoints.size() <= MAX_ENDPOINTS
                && endpoints.stream()
                        .allMatch(each -> !each.name().isEmpty() && each.name().length() <= MAX_NAME_BYTES);
        if (!isSound) {
            throw new IllegalArgumentException("no such address: " + endpoints);
        }
    }

    byte[] encode() {
        byte[] name = provider.getBytes(StandardCharsets.UTF_8);
        int length = endpoints.stream()
                .mapToInt(each -> Integer.BYTES + Short.BYTES + each.name().length())
                .sum();
        ByteBuffer out = ByteBuffer.allocate(
                        Integer.BYTES + Long.BYTES + Short.BYTES + name.length + Short.BYTES + length + CHECKSUM_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(MAGIC)
                .putLong(fabricId)
                .putShort((short) name.length)
                .put(name)
                .putShort((short) endpoints.size());
        for (Endpoint each : endpoints) {
            out.putInt(each.format()).putShort((short) each.name().length()).put(each.bytes());
        }
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
    static OfiAddress decode(byte[] encoded) throws PeerUnreachableException {
        ByteBuffer in = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
        try {
            if (in.getInt() != MAGIC) {
                throw new PeerUnreachableException("the peer's libfabric address has an unknown version");
            }
            if (in.getInt(encoded.length - CHECKSUM_BYTES) == checksum(encoded)) {
                long fabricId = in.getLong();
                String provider = new String(bytes(in), StandardCharsets.UTF_8);
                int count = in.getShort();
                List<Endpoint> endpoints = new ArrayList<>();
                for (int i = 0; i < Math.min(count, MAX_ENDPOINTS); i++) {
                    endpoints.add(Endpoint.of(in.getInt(), bytes(in)));
                }
                return new OfiAddress(fabricId, provider, endpoints);
            }
        } catch (BufferUnderflowException | IndexOutOfBoundsException | IllegalArgumentException e) {
            throw new PeerUnreachableException("the peer's libfabric address is damaged", e);
        }
        throw new PeerUnreachableException("the peer's libfabric address is damaged");
    }

    private static byte[] bytes(ByteBuffer in) {
        int length = in.getShort();
        if (length < 0 || length > in.remaining()) {
            throw new IllegalArgumentException("a length of " + length);
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return bytes;
    }
}
