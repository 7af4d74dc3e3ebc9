// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * Layout of every struct that crosses the border to librdmacm.
 *
 * <p>Each nested class is a C struct under its C name: {@code SIZEOF}, and the offset of each field in bytes. A double
 * underscore stands for the dot of a nested field. {@code AbiContract} compares every number with the headers.
 *
 * <p><b>Threading:</b> constants.
 *
 * <p><b>Source:</b> rdma/rdma_cma.h of rdma-core 44; 64-bit Linux.
 */
@SuppressWarnings("MemberName") // C names verbatim
public final class CmLayout {
    private CmLayout() {}

    /** A source of connection events; its descriptor can be polled. */
    public static final class rdma_event_channel {
        public static final int SIZEOF = 4;
        public static final int fd = 0;

        private rdma_event_channel() {}
    }

    /** Both ends of a connection, as sockets and as fabric addresses. */
    public static final class rdma_addr {
        public static final int SIZEOF = 296;
        public static final int src_addr = 0;
        public static final int src_sin = 0;
        public static final int src_sin6 = 0;
        public static final int src_storage = 0;
        public static final int dst_addr = 128;
        public static final int dst_sin = 128;
        public static final int dst_sin6 = 128;
        public static final int dst_storage = 128;
        public static final int addr__ibaddr__sgid = 256;
        public static final int addr__ibaddr__dgid = 272;
        public static final int addr__ibaddr__pkey = 288;

        private rdma_addr() {}
    }

    /** Addresses and the paths between them. */
    public static final class rdma_route {
        public static final int SIZEOF = 312;
        public static final int addr = 0;
        public static final int addr__src_addr = 0;
        public static final int addr__src_sin = 0;
        public static final int addr__src_sin6 = 0;
        public static final int addr__src_storage = 0;
        public static final int addr__dst_addr = 128;
        public static final int addr__dst_sin = 128;
        public static final int addr__dst_sin6 = 128;
        public static final int addr__dst_storage = 128;
        public static final int addr__addr__ibaddr__sgid = 256;
        public static final int addr__addr__ibaddr__dgid = 272;
        public static final int addr__addr__ibaddr__pkey = 288;
        public static final int path_rec = 296;
        public static final int num_paths = 304;

        private rdma_route() {}
    }

    /** A connection, or a listener. */
    public static final class rdma_cm_id {
        public static final int SIZEOF = 416;
        public static final int verbs = 0;
        public static final int channel = 8;
        public static final int context = 16;
        public static final int qp = 24;
        public static final int route = 32;
        public static final int route__addr = 32;
        public static final int route__addr__src_addr = 32;
        public static final int route__addr__src_sin = 32;
        public static final int route__addr__src_sin6 = 32;
        public static final int route__addr__src_storage = 32;
        public static final int route__addr__dst_addr = 160;
        public static final int route__addr__dst_sin = 160;
        public static final int route__addr__dst_sin6 = 160;
        public static final int route__addr__dst_storage = 160;
        public static final int route__addr__addr__ibaddr__sgid = 288;
        public static final int route__addr__addr__ibaddr__dgid = 304;
        public static final int route__addr__addr__ibaddr__pkey = 320;
        public static final int route__path_rec = 328;
        public static final int route__num_paths = 336;
        public static final int ps = 344;
        public static final int port_num = 348;
        public static final int event = 352;
        public static final int send_cq_channel = 360;
        public static final int send_cq = 368;
        public static final int recv_cq_channel = 376;
        public static final int recv_cq = 384;
        public static final int srq = 392;
        public static final int pd = 400;
        public static final int qp_type = 408;

        private rdma_cm_id() {}
    }

    /** Request of rdma_connect and rdma_accept. */
    public static final class rdma_conn_param {
        public static final int SIZEOF = 24;
        public static final int private_data = 0;
        public static final int private_data_len = 8;
        public static final int responder_resources = 9;
        public static final int initiator_depth = 10;
        public static final int flow_control = 11;
        public static final int retry_count = 12;
        public static final int rnr_retry_count = 13;
        public static final int srq = 14;
        public static final int qp_num = 16;

        private rdma_conn_param() {}
    }

    /** Event returned by rdma_get_cm_event; valid until rdma_ack_cm_event. */
    public static final class rdma_cm_event {
        public static final int SIZEOF = 80;
        public static final int id = 0;
        public static final int listen_id = 8;
        public static final int event = 16;
        public static final int status = 20;
        public static final int param__conn = 24;
        public static final int param__conn__private_data = 24;
        public static final int param__conn__private_data_len = 32;
        public static final int param__conn__responder_resources = 33;
        public static final int param__conn__initiator_depth = 34;
        public static final int param__conn__flow_control = 35;
        public static final int param__conn__retry_count = 36;
        public static final int param__conn__rnr_retry_count = 37;
        public static final int param__conn__srq = 38;
        public static final int param__conn__qp_num = 40;
        public static final int param__ud__private_data = 24;
        public static final int param__ud__private_data_len = 32;
        public static final int param__ud__ah_attr = 40;
        public static final int param__ud__qp_num = 72;
        public static final int param__ud__qkey = 76;

        private rdma_cm_event() {}
    }
}
