// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * The constants of librdmacm, under their C names.
 *
 * <p><b>Threading:</b> constants.
 *
 * <p><b>Source:</b> rdma/rdma_cma.h of rdma-core 44; {@code AbiContract} compares every number with the header.
 */
public final class CmConstants {
    // enum rdma_cm_event_type: event of rdma_cm_event
    public static final int RDMA_CM_EVENT_ADDR_RESOLVED = 0;
    public static final int RDMA_CM_EVENT_ADDR_ERROR = 1;
    public static final int RDMA_CM_EVENT_ROUTE_RESOLVED = 2;
    public static final int RDMA_CM_EVENT_ROUTE_ERROR = 3;
    public static final int RDMA_CM_EVENT_CONNECT_REQUEST = 4;
    public static final int RDMA_CM_EVENT_CONNECT_RESPONSE = 5;
    public static final int RDMA_CM_EVENT_CONNECT_ERROR = 6;
    public static final int RDMA_CM_EVENT_UNREACHABLE = 7;
    public static final int RDMA_CM_EVENT_REJECTED = 8;
    public static final int RDMA_CM_EVENT_ESTABLISHED = 9;
    public static final int RDMA_CM_EVENT_DISCONNECTED = 10;
    public static final int RDMA_CM_EVENT_DEVICE_REMOVAL = 11;
    public static final int RDMA_CM_EVENT_MULTICAST_JOIN = 12;
    public static final int RDMA_CM_EVENT_MULTICAST_ERROR = 13;
    public static final int RDMA_CM_EVENT_ADDR_CHANGE = 14;
    public static final int RDMA_CM_EVENT_TIMEWAIT_EXIT = 15;

    // enum rdma_port_space: ps of rdma_create_id
    public static final int RDMA_PS_IPOIB = 0x2;
    public static final int RDMA_PS_TCP = 0x106;
    public static final int RDMA_PS_UDP = 0x111;
    public static final int RDMA_PS_IB = 0x13F;

    // largest responder_resources and initiator_depth of rdma_conn_param
    public static final int RDMA_MAX_RESP_RES = 0xFF;
    public static final int RDMA_MAX_INIT_DEPTH = 0xFF;

    // level of rdma_set_option
    public static final int RDMA_OPTION_ID = 0;
    public static final int RDMA_OPTION_IB = 1;

    // optname of rdma_set_option at level RDMA_OPTION_ID
    public static final int RDMA_OPTION_ID_TOS = 0;
    public static final int RDMA_OPTION_ID_REUSEADDR = 1;
    public static final int RDMA_OPTION_ID_AFONLY = 2;
    public static final int RDMA_OPTION_ID_ACK_TIMEOUT = 3;

    private CmConstants() {}
}
