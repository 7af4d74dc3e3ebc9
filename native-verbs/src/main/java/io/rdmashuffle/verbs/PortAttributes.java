// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.DeviceLayout.ibv_port_attr;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.VerbsConstants;

/**
 * The state of a port when it was asked for.
 *
 * <p><b>Source:</b> ibv_query_port(3).
 *
 * @param number counts from 1
 * @param active whether traffic can pass
 * @param activeMtuBytes most payload of one packet
 * @param maxMessageBytes longest message or READ
 * @param gigabitsPerSecond speed of all lanes together, 0 if the device reports a code that is not known here
 * @param lid address on an InfiniBand subnet, 16 bits; 0 on Ethernet
 * @param ethernet RoCE or iWARP if true, InfiniBand if not; {@link Context#transport()} tells those two apart
 */
public record PortAttributes(
        int number,
        boolean active,
        int activeMtuBytes,
        long maxMessageBytes,
        double gigabitsPerSecond,
        int lid,
        boolean ethernet) {
    static final int MIN_MTU_BYTES = 256;
    static final int MAX_MTU_BYTES = 4096;

    static PortAttributes read(int number, NativeBuffer attributes) {
        return new PortAttributes(
                number,
                attributes.getInt(ibv_port_attr.state) == VerbsConstants.IBV_PORT_ACTIVE,
                mtuBytes(attributes.getInt(ibv_port_attr.active_mtu)),
                Integer.toUnsignedLong(attributes.getInt(ibv_port_attr.max_msg_sz)),
                lanes(attributes.getByte(ibv_port_attr.active_width))
                        * gigabitsPerLane(attributes.getByte(ibv_port_attr.active_speed)),
                Short.toUnsignedInt(attributes.getShort(ibv_port_attr.lid)),
                attributes.getByte(ibv_port_attr.link_layer) == VerbsConstants.IBV_LINK_LAYER_ETHERNET);
    }

    /** Returns the bytes that an {@code enum ibv_mtu} stands for: 1 is 256, 5 is 4096. */
    static int mtuBytes(int mtu) {
        return 128 << mtu;
    }

    /** Returns the {@code enum ibv_mtu} of a number of bytes. */
    static int mtu(int bytes) {
        int mtu = Integer.numberOfTrailingZeros(bytes) - 7;
        if (Integer.bitCount(bytes) != 1 || mtu < VerbsConstants.IBV_MTU_256 || mtu > VerbsConstants.IBV_MTU_4096) {
            throw new IllegalArgumentException("MTU " + bytes + ": must be 256, 512, 1024, 2048 or 4096");
        }
        return mtu;
    }

    /** Width code of the InfiniBand specification: 1, 4, 8 and 12 lanes are 1, 2, 4, 8; 16 stands for two. */
    private static int lanes(byte width) {
        return switch (width) {
            case 1 -> 1;
            case 2 -> 4;
            case 4 -> 8;
            case 8 -> 12;
            case 16 -> 2;
            default -> 0;
        };
    }

    /** Speed code of the InfiniBand specification: SDR, DDR, QDR, FDR10, FDR, EDR, HDR; NDR lies past this byte. */
    private static double gigabitsPerLane(byte speed) {
        return switch (speed) {
            case 1 -> 2.5;
            case 2 -> 5;
            case 4, 8 -> 10;
            case 16 -> 14;
            case 32 -> 25;
            case 64 -> 50;
            case (byte) 128 -> 100;
            default -> 0;
        };
    }
}
