// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_ah_attr;
import java.net.InetAddress;

/** Encoder of the path to a peer as an {@code ibv_ah_attr}. <b>Source:</b> ibv_create_ah(3), struct ibv_ah_attr. */
final class AddressVector {
    private AddressVector() {}

    /** Writes an {@code ibv_ah_attr} at an offset of a zeroed buffer. */
    static void put(NativeBuffer buffer, long offset, PairAttributes own, PairAddress peer) {
        buffer.putShort(offset + ibv_ah_attr.dlid, (short) peer.lid());
        buffer.putByte(offset + ibv_ah_attr.sl, (byte) own.serviceLevel());
        buffer.putByte(offset + ibv_ah_attr.port_num, (byte) own.port());
        GidEntry from = own.gid();
        InetAddress to = peer.gid();
        if (from != null && to != null) {
            buffer.putByte(offset + ibv_ah_attr.is_global, (byte) 1);
            buffer.putBytes(offset + ibv_ah_attr.grh__dgid, GidEntry.bytes(to), 0, GidEntry.BYTES);
            buffer.putByte(offset + ibv_ah_attr.grh__sgid_index, (byte) from.index());
            buffer.putByte(offset + ibv_ah_attr.grh__hop_limit, (byte) own.hopLimit());
            buffer.putByte(offset + ibv_ah_attr.grh__traffic_class, (byte) own.trafficClass());
        }
    }
}
