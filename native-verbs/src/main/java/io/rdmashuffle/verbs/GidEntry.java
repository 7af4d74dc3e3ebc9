// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.DeviceLayout.ibv_gid_entry;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * A global identifier of a port: on RoCE the IP address of its network interface.
 *
 * <p><b>Source:</b> ibv_query_gid_table(3).
 *
 * @param port counts from 1
 * @param index row of the port's table: the GID index of tools
 * @param type how packets look on the wire
 * @param address the identifier's 16 bytes as an address; IPv4 if it is a mapped one
 */
public record GidEntry(int port, int index, Type type, InetAddress address) {
    static final int BYTES = 16;

    private static final int IPV4_BYTES = 4;

    /** Packet format on the wire. */
    public enum Type {
        /** Native InfiniBand; also the only one of an iWARP port, whose packets carry none. */
        INFINIBAND,
        /** RoCE v1: straight on Ethernet, not routable. */
        ROCE_V1,
        /** RoCE v2: on UDP, port 4791. */
        ROCE_V2,
        /** A number that this library does not know. */
        UNKNOWN
    }

    /** Reads an entry out of a table that the caller keeps alive. */
    static GidEntry read(long entry) {
        byte[] bytes = new byte[BYTES];
        RawMemory.getBytes(entry + ibv_gid_entry.gid, bytes, 0, bytes.length);
        return of(
                RawMemory.getInt(entry + ibv_gid_entry.port_num),
                RawMemory.getInt(entry + ibv_gid_entry.gid_index),
                type(RawMemory.getInt(entry + ibv_gid_entry.gid_type)),
                bytes);
    }

    /** Makes an entry of an identifier's 16 bytes. */
    static GidEntry of(int port, int index, Type type, byte[] gid) {
        try {
            return new GidEntry(port, index, type, InetAddress.getByAddress(gid));
        } catch (UnknownHostException e) {
            throw new IllegalStateException("16 bytes are always an address", e);
        }
    }

    /** Returns the identifier as C has it: an IPv4 address as a mapped one, {@code ::ffff:a.b.c.d}. */
    static byte[] bytes(InetAddress address) {
        byte[] raw = address.getAddress();
        if (raw.length != IPV4_BYTES) {
            return raw;
        }
        byte[] mapped = new byte[BYTES];
        mapped[10] = -1;
        mapped[11] = -1;
        System.arraycopy(raw, 0, mapped, BYTES - IPV4_BYTES, IPV4_BYTES);
        return mapped;
    }

    private static Type type(int type) {
        return switch (type) {
            case VerbsConstants.IBV_GID_TYPE_IB -> Type.INFINIBAND;
            case VerbsConstants.IBV_GID_TYPE_ROCE_V1 -> Type.ROCE_V1;
            case VerbsConstants.IBV_GID_TYPE_ROCE_V2 -> Type.ROCE_V2;
            default -> Type.UNKNOWN;
        };
    }
}
