// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.VerbsConstants;

/**
 * Role of a device in its network.
 *
 * <p><b>Source:</b> ibv_get_device_list(3), enum ibv_node_type.
 */
public enum NodeType {
    /** An InfiniBand or RoCE adapter. */
    CHANNEL_ADAPTER,
    /** An InfiniBand switch. */
    SWITCH,
    /** An InfiniBand router. */
    ROUTER,
    /** An iWARP adapter. */
    RNIC,
    /** A Cisco usNIC adapter. */
    USNIC,
    /** A Cisco usNIC adapter over UDP. */
    USNIC_UDP,
    /** Of no kind that the kernel names; for example Amazon EFA. */
    UNSPECIFIED,
    /** A number that this library does not know. */
    UNKNOWN;

    static NodeType of(int number) {
        return switch (number) {
            case VerbsConstants.IBV_NODE_CA -> CHANNEL_ADAPTER;
            case VerbsConstants.IBV_NODE_SWITCH -> SWITCH;
            case VerbsConstants.IBV_NODE_ROUTER -> ROUTER;
            case VerbsConstants.IBV_NODE_RNIC -> RNIC;
            case VerbsConstants.IBV_NODE_USNIC -> USNIC;
            case VerbsConstants.IBV_NODE_USNIC_UDP -> USNIC_UDP;
            case VerbsConstants.IBV_NODE_UNSPECIFIED -> UNSPECIFIED;
            default -> UNKNOWN;
        };
    }
}
