// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * The constants of libibverbs, under their C names and in the order of the header.
 *
 * <p><b>Threading:</b> constants.
 *
 * <p><b>Source:</b> infiniband/verbs.h of rdma-core 44; {@code AbiContract} compares every number with the header.
 */
public final class VerbsConstants {
    // enum ibv_node_type: node_type of ibv_device
    public static final int IBV_NODE_UNKNOWN = -1;
    public static final int IBV_NODE_CA = 1;
    public static final int IBV_NODE_SWITCH = 2;
    public static final int IBV_NODE_ROUTER = 3;
    public static final int IBV_NODE_RNIC = 4;
    public static final int IBV_NODE_USNIC = 5;
    public static final int IBV_NODE_USNIC_UDP = 6;
    public static final int IBV_NODE_UNSPECIFIED = 7;

    // enum ibv_transport_type: transport_type of ibv_device
    public static final int IBV_TRANSPORT_UNKNOWN = -1;
    public static final int IBV_TRANSPORT_IB = 0;
    public static final int IBV_TRANSPORT_IWARP = 1;
    public static final int IBV_TRANSPORT_USNIC = 2;
    public static final int IBV_TRANSPORT_USNIC_UDP = 3;
    public static final int IBV_TRANSPORT_UNSPECIFIED = 4;

    // enum ibv_device_cap_flags: device_cap_flags of ibv_device_attr
    public static final int IBV_DEVICE_RESIZE_MAX_WR = 1;
    public static final int IBV_DEVICE_BAD_PKEY_CNTR = 1 << 1;
    public static final int IBV_DEVICE_BAD_QKEY_CNTR = 1 << 2;
    public static final int IBV_DEVICE_RAW_MULTI = 1 << 3;
    public static final int IBV_DEVICE_AUTO_PATH_MIG = 1 << 4;
    public static final int IBV_DEVICE_CHANGE_PHY_PORT = 1 << 5;
    public static final int IBV_DEVICE_UD_AV_PORT_ENFORCE = 1 << 6;
    public static final int IBV_DEVICE_CURR_QP_STATE_MOD = 1 << 7;
    public static final int IBV_DEVICE_SHUTDOWN_PORT = 1 << 8;
    public static final int IBV_DEVICE_INIT_TYPE = 1 << 9;
    public static final int IBV_DEVICE_PORT_ACTIVE_EVENT = 1 << 10;
    public static final int IBV_DEVICE_SYS_IMAGE_GUID = 1 << 11;
    public static final int IBV_DEVICE_RC_RNR_NAK_GEN = 1 << 12;
    public static final int IBV_DEVICE_SRQ_RESIZE = 1 << 13;
    public static final int IBV_DEVICE_N_NOTIFY_CQ = 1 << 14;
    public static final int IBV_DEVICE_MEM_WINDOW = 1 << 17;
    public static final int IBV_DEVICE_UD_IP_CSUM = 1 << 18;
    public static final int IBV_DEVICE_XRC = 1 << 20;
    public static final int IBV_DEVICE_MEM_MGT_EXTENSIONS = 1 << 21;
    public static final int IBV_DEVICE_MEM_WINDOW_TYPE_2A = 1 << 23;
    public static final int IBV_DEVICE_MEM_WINDOW_TYPE_2B = 1 << 24;
    public static final int IBV_DEVICE_RC_IP_CSUM = 1 << 25;
    public static final int IBV_DEVICE_RAW_IP_CSUM = 1 << 26;
    public static final int IBV_DEVICE_MANAGED_FLOW_STEERING = 1 << 29;

    // enum ibv_atomic_cap: atomic_cap of ibv_device_attr
    public static final int IBV_ATOMIC_NONE = 0;
    public static final int IBV_ATOMIC_HCA = 1;
    public static final int IBV_ATOMIC_GLOB = 2;

    // enum ibv_odp_general_caps: general_caps of ibv_odp_caps
    public static final int IBV_ODP_SUPPORT = 1;
    public static final int IBV_ODP_SUPPORT_IMPLICIT = 1 << 1;

    // enum ibv_odp_transport_cap_bits: per_transport_caps of ibv_odp_caps
    public static final int IBV_ODP_SUPPORT_SEND = 1;
    public static final int IBV_ODP_SUPPORT_RECV = 1 << 1;
    public static final int IBV_ODP_SUPPORT_WRITE = 1 << 2;
    public static final int IBV_ODP_SUPPORT_READ = 1 << 3;
    public static final int IBV_ODP_SUPPORT_ATOMIC = 1 << 4;
    public static final int IBV_ODP_SUPPORT_SRQ_RECV = 1 << 5;

    // enum ibv_mtu: max_mtu and active_mtu of ibv_port_attr, path_mtu of ibv_qp_attr
    public static final int IBV_MTU_256 = 1;
    public static final int IBV_MTU_512 = 2;
    public static final int IBV_MTU_1024 = 3;
    public static final int IBV_MTU_2048 = 4;
    public static final int IBV_MTU_4096 = 5;

    // enum ibv_port_state: state of ibv_port_attr
    public static final int IBV_PORT_NOP = 0;
    public static final int IBV_PORT_DOWN = 1;
    public static final int IBV_PORT_INIT = 2;
    public static final int IBV_PORT_ARMED = 3;
    public static final int IBV_PORT_ACTIVE = 4;
    public static final int IBV_PORT_ACTIVE_DEFER = 5;

    // link_layer of ibv_port_attr
    public static final int IBV_LINK_LAYER_UNSPECIFIED = 0;
    public static final int IBV_LINK_LAYER_INFINIBAND = 1;
    public static final int IBV_LINK_LAYER_ETHERNET = 2;

    // flags of ibv_port_attr
    public static final int IBV_QPF_GRH_REQUIRED = 1;

    // enum ibv_gid_type: gid_type of ibv_gid_entry
    public static final int IBV_GID_TYPE_IB = 0;
    public static final int IBV_GID_TYPE_ROCE_V1 = 1;
    public static final int IBV_GID_TYPE_ROCE_V2 = 2;

    // enum ibv_event_type: event_type of ibv_async_event
    public static final int IBV_EVENT_CQ_ERR = 0;
    public static final int IBV_EVENT_QP_FATAL = 1;
    public static final int IBV_EVENT_QP_REQ_ERR = 2;
    public static final int IBV_EVENT_QP_ACCESS_ERR = 3;
    public static final int IBV_EVENT_COMM_EST = 4;
    public static final int IBV_EVENT_SQ_DRAINED = 5;
    public static final int IBV_EVENT_PATH_MIG = 6;
    public static final int IBV_EVENT_PATH_MIG_ERR = 7;
    public static final int IBV_EVENT_DEVICE_FATAL = 8;
    public static final int IBV_EVENT_PORT_ACTIVE = 9;
    public static final int IBV_EVENT_PORT_ERR = 10;
    public static final int IBV_EVENT_LID_CHANGE = 11;
    public static final int IBV_EVENT_PKEY_CHANGE = 12;
    public static final int IBV_EVENT_SM_CHANGE = 13;
    public static final int IBV_EVENT_SRQ_ERR = 14;
    public static final int IBV_EVENT_SRQ_LIMIT_REACHED = 15;
    public static final int IBV_EVENT_QP_LAST_WQE_REACHED = 16;
    public static final int IBV_EVENT_CLIENT_REREGISTER = 17;
    public static final int IBV_EVENT_GID_CHANGE = 18;
    public static final int IBV_EVENT_WQ_FATAL = 19;

    // enum ibv_access_flags: access of ibv_reg_mr, qp_access_flags, mw_access_flags
    public static final int IBV_ACCESS_LOCAL_WRITE = 1;
    public static final int IBV_ACCESS_REMOTE_WRITE = 1 << 1;
    public static final int IBV_ACCESS_REMOTE_READ = 1 << 2;
    public static final int IBV_ACCESS_REMOTE_ATOMIC = 1 << 3;
    public static final int IBV_ACCESS_MW_BIND = 1 << 4;
    public static final int IBV_ACCESS_ZERO_BASED = 1 << 5;
    public static final int IBV_ACCESS_ON_DEMAND = 1 << 6;
    public static final int IBV_ACCESS_HUGETLB = 1 << 7;
    public static final int IBV_ACCESS_RELAXED_ORDERING = 1 << 20;
    public static final int IBV_ACCESS_OPTIONAL_RANGE = 0x3ff00000;

    // enum ibv_advise_mr_advice: advice of ibv_advise_mr
    public static final int IBV_ADVISE_MR_ADVICE_PREFETCH = 0;
    public static final int IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE = 1;
    public static final int IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT = 2;

    // flags of ibv_advise_mr
    public static final int IBV_ADVISE_MR_FLAG_FLUSH = 1;

    // enum ibv_mw_type: type of ibv_mw
    public static final int IBV_MW_TYPE_1 = 1;
    public static final int IBV_MW_TYPE_2 = 2;

    // enum ibv_srq_attr_mask: mask of ibv_modify_srq
    public static final int IBV_SRQ_MAX_WR = 1;
    public static final int IBV_SRQ_LIMIT = 1 << 1;

    // enum ibv_qp_type: qp_type of ibv_qp_init_attr
    public static final int IBV_QPT_RC = 2;
    public static final int IBV_QPT_UC = 3;
    public static final int IBV_QPT_UD = 4;
    public static final int IBV_QPT_RAW_PACKET = 8;
    public static final int IBV_QPT_XRC_SEND = 9;
    public static final int IBV_QPT_XRC_RECV = 10;
    public static final int IBV_QPT_DRIVER = 255;

    // enum ibv_qp_state: qp_state of ibv_qp_attr
    public static final int IBV_QPS_RESET = 0;
    public static final int IBV_QPS_INIT = 1;
    public static final int IBV_QPS_RTR = 2;
    public static final int IBV_QPS_RTS = 3;
    public static final int IBV_QPS_SQD = 4;
    public static final int IBV_QPS_SQE = 5;
    public static final int IBV_QPS_ERR = 6;
    public static final int IBV_QPS_UNKNOWN = 7;

    // enum ibv_mig_state: path_mig_state of ibv_qp_attr
    public static final int IBV_MIG_MIGRATED = 0;
    public static final int IBV_MIG_REARM = 1;
    public static final int IBV_MIG_ARMED = 2;

    // enum ibv_qp_attr_mask: mask of ibv_modify_qp and ibv_query_qp
    public static final int IBV_QP_STATE = 1;
    public static final int IBV_QP_CUR_STATE = 1 << 1;
    public static final int IBV_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2;
    public static final int IBV_QP_ACCESS_FLAGS = 1 << 3;
    public static final int IBV_QP_PKEY_INDEX = 1 << 4;
    public static final int IBV_QP_PORT = 1 << 5;
    public static final int IBV_QP_QKEY = 1 << 6;
    public static final int IBV_QP_AV = 1 << 7;
    public static final int IBV_QP_PATH_MTU = 1 << 8;
    public static final int IBV_QP_TIMEOUT = 1 << 9;
    public static final int IBV_QP_RETRY_CNT = 1 << 10;
    public static final int IBV_QP_RNR_RETRY = 1 << 11;
    public static final int IBV_QP_RQ_PSN = 1 << 12;
    public static final int IBV_QP_MAX_QP_RD_ATOMIC = 1 << 13;
    public static final int IBV_QP_ALT_PATH = 1 << 14;
    public static final int IBV_QP_MIN_RNR_TIMER = 1 << 15;
    public static final int IBV_QP_SQ_PSN = 1 << 16;
    public static final int IBV_QP_MAX_DEST_RD_ATOMIC = 1 << 17;
    public static final int IBV_QP_PATH_MIG_STATE = 1 << 18;
    public static final int IBV_QP_CAP = 1 << 19;
    public static final int IBV_QP_DEST_QPN = 1 << 20;
    public static final int IBV_QP_RATE_LIMIT = 1 << 25;

    // enum ibv_wr_opcode: opcode of ibv_send_wr
    public static final int IBV_WR_RDMA_WRITE = 0;
    public static final int IBV_WR_RDMA_WRITE_WITH_IMM = 1;
    public static final int IBV_WR_SEND = 2;
    public static final int IBV_WR_SEND_WITH_IMM = 3;
    public static final int IBV_WR_RDMA_READ = 4;
    public static final int IBV_WR_ATOMIC_CMP_AND_SWP = 5;
    public static final int IBV_WR_ATOMIC_FETCH_AND_ADD = 6;
    public static final int IBV_WR_LOCAL_INV = 7;
    public static final int IBV_WR_BIND_MW = 8;
    public static final int IBV_WR_SEND_WITH_INV = 9;
    public static final int IBV_WR_TSO = 10;
    public static final int IBV_WR_DRIVER1 = 11;
    public static final int IBV_WR_ATOMIC_WRITE = 15;

    // enum ibv_send_flags: send_flags of ibv_send_wr
    public static final int IBV_SEND_FENCE = 1;
    public static final int IBV_SEND_SIGNALED = 1 << 1;
    public static final int IBV_SEND_SOLICITED = 1 << 2;
    public static final int IBV_SEND_INLINE = 1 << 3;
    public static final int IBV_SEND_IP_CSUM = 1 << 4;

    // enum ibv_wc_status: status of ibv_wc
    public static final int IBV_WC_SUCCESS = 0;
    public static final int IBV_WC_LOC_LEN_ERR = 1;
    public static final int IBV_WC_LOC_QP_OP_ERR = 2;
    public static final int IBV_WC_LOC_EEC_OP_ERR = 3;
    public static final int IBV_WC_LOC_PROT_ERR = 4;
    public static final int IBV_WC_WR_FLUSH_ERR = 5;
    public static final int IBV_WC_MW_BIND_ERR = 6;
    public static final int IBV_WC_BAD_RESP_ERR = 7;
    public static final int IBV_WC_LOC_ACCESS_ERR = 8;
    public static final int IBV_WC_REM_INV_REQ_ERR = 9;
    public static final int IBV_WC_REM_ACCESS_ERR = 10;
    public static final int IBV_WC_REM_OP_ERR = 11;
    public static final int IBV_WC_RETRY_EXC_ERR = 12;
    public static final int IBV_WC_RNR_RETRY_EXC_ERR = 13;
    public static final int IBV_WC_LOC_RDD_VIOL_ERR = 14;
    public static final int IBV_WC_REM_INV_RD_REQ_ERR = 15;
    public static final int IBV_WC_REM_ABORT_ERR = 16;
    public static final int IBV_WC_INV_EECN_ERR = 17;
    public static final int IBV_WC_INV_EEC_STATE_ERR = 18;
    public static final int IBV_WC_FATAL_ERR = 19;
    public static final int IBV_WC_RESP_TIMEOUT_ERR = 20;
    public static final int IBV_WC_GENERAL_ERR = 21;
    public static final int IBV_WC_TM_ERR = 22;
    public static final int IBV_WC_TM_RNDV_INCOMPLETE = 23;

    // enum ibv_wc_opcode: opcode of ibv_wc
    public static final int IBV_WC_SEND = 0;
    public static final int IBV_WC_RDMA_WRITE = 1;
    public static final int IBV_WC_RDMA_READ = 2;
    public static final int IBV_WC_COMP_SWAP = 3;
    public static final int IBV_WC_FETCH_ADD = 4;
    public static final int IBV_WC_BIND_MW = 5;
    public static final int IBV_WC_LOCAL_INV = 6;
    public static final int IBV_WC_TSO = 7;
    public static final int IBV_WC_ATOMIC_WRITE = 9;
    public static final int IBV_WC_RECV = 128;
    public static final int IBV_WC_RECV_RDMA_WITH_IMM = 129;
    public static final int IBV_WC_TM_ADD = 130;
    public static final int IBV_WC_TM_DEL = 131;
    public static final int IBV_WC_TM_SYNC = 132;
    public static final int IBV_WC_TM_RECV = 133;
    public static final int IBV_WC_TM_NO_TAG = 134;
    public static final int IBV_WC_DRIVER1 = 135;
    public static final int IBV_WC_DRIVER2 = 136;
    public static final int IBV_WC_DRIVER3 = 137;

    // enum ibv_wc_flags: wc_flags of ibv_wc
    public static final int IBV_WC_GRH = 1;
    public static final int IBV_WC_WITH_IMM = 1 << 1;
    public static final int IBV_WC_IP_CSUM_OK = 1 << 2;
    public static final int IBV_WC_WITH_INV = 1 << 3;
    public static final int IBV_WC_TM_SYNC_REQ = 1 << 4;
    public static final int IBV_WC_TM_MATCH = 1 << 5;
    public static final int IBV_WC_TM_DATA_VALID = 1 << 6;

    private VerbsConstants() {}
}
