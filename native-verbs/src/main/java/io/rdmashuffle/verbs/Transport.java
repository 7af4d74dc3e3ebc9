// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.DeviceLayout.ibv_context;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;

/**
 * The protocol that a device speaks, which decides how it connects and what a READ needs.
 *
 * <p><b>Source:</b> ibv_get_device_list(3), enum ibv_transport_type.
 */
public enum Transport {
    /** InfiniBand, and RoCE, which carries its packets over Ethernet. */
    INFINIBAND,
    /**
     * iWARP: over TCP. The connection manager takes the queue pair from INIT to RTS, a client's answer comes as
     * ESTABLISHED, the client sends first, a SEND that finds no receive posted ends the connection, and the local
     * memory of a READ needs {@link Access#REMOTE_WRITE}. SEND and WRITE complete when TCP has them, siw's even before
     * a READ that was posted before them; what the peer's device refuses ends the connection, and a READ of it is
     * flushed.
     */
    IWARP,
    /** Cisco usNIC. */
    USNIC,
    /** Cisco usNIC over UDP. */
    USNIC_UDP,
    /** The vendor's own, without connections of this library; for example Amazon EFA. */
    UNSPECIFIED,
    /** A number that this library does not know. */
    UNKNOWN;

    /** Returns the transport of the device of an {@code ibv_context} that the caller keeps alive. */
    static Transport ofContext(long context) {
        return ofDevice(RawMemory.getLong(context + ibv_context.device));
    }

    /** Returns the transport of an {@code ibv_device} that the caller keeps alive. */
    static Transport ofDevice(long device) {
        Transport transport = of(RawMemory.getInt(device + ibv_device.transport_type));
        return transport == UNKNOWN ? ofNode(RawMemory.getInt(device + ibv_device.node_type)) : transport;
    }

    private static Transport of(int number) {
        return switch (number) {
            case VerbsConstants.IBV_TRANSPORT_IB -> INFINIBAND;
            case VerbsConstants.IBV_TRANSPORT_IWARP -> IWARP;
            case VerbsConstants.IBV_TRANSPORT_USNIC -> USNIC;
            case VerbsConstants.IBV_TRANSPORT_USNIC_UDP -> USNIC_UDP;
            case VerbsConstants.IBV_TRANSPORT_UNSPECIFIED -> UNSPECIFIED;
            default -> UNKNOWN;
        };
    }

    /** As libibverbs itself derives the transport from the kernel's node type. */
    private static Transport ofNode(int nodeType) {
        return switch (NodeType.of(nodeType)) {
            case CHANNEL_ADAPTER, SWITCH, ROUTER -> INFINIBAND;
            case RNIC -> IWARP;
            case USNIC -> USNIC;
            case USNIC_UDP -> USNIC_UDP;
            case UNSPECIFIED -> UNSPECIFIED;
            case UNKNOWN -> UNKNOWN;
        };
    }
}
