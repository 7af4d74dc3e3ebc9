// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * Layout of devices, their contexts and attributes; use it as {@link VerbsLayout}.
 *
 * <p>Each nested class is a C struct under its C name: {@code SIZEOF}, and the offset of each field in bytes. A double
 * underscore stands for the dot of a nested field. {@code AbiContract} compares every number with the headers.
 *
 * <p><b>Threading:</b> constants.
 *
 * <p><b>Source:</b> infiniband/verbs.h of rdma-core 44; 64-bit Linux.
 */
@SuppressWarnings("MemberName") // C names verbatim
public interface DeviceLayout {
    /** The lock inside several structs below: 8 bytes longer on aarch64 than on x86-64. */
    final class pthread_mutex_t {
        public static final int SIZEOF = "aarch64".equals(System.getProperty("os.arch")) ? 48 : 40;

        private pthread_mutex_t() {}
    }

    /** A device of the list; valid until the list is freed, or until closed when it was opened. */
    final class ibv_device {
        public static final int SIZEOF = 664;
        public static final int node_type = 16;
        public static final int transport_type = 20;
        public static final int name = 24;
        public static final int dev_name = 88;
        public static final int dev_path = 152;
        public static final int ibdev_path = 408;

        private ibv_device() {}
    }

    /** The function pointers behind the inline functions of verbs.h. */
    final class ibv_context_ops {
        public static final int SIZEOF = 256;
        public static final int alloc_mw = 56;
        public static final int bind_mw = 64;
        public static final int dealloc_mw = 72;
        public static final int poll_cq = 88;
        public static final int req_notify_cq = 96;
        public static final int post_srq_recv = 160;
        public static final int post_send = 200;
        public static final int post_recv = 208;

        private ibv_context_ops() {}
    }

    /** An open device. */
    final class ibv_context {
        public static final int SIZEOF = 288 + pthread_mutex_t.SIZEOF;
        public static final int device = 0;
        public static final int ops = 8;
        public static final int ops__alloc_mw = 64;
        public static final int ops__bind_mw = 72;
        public static final int ops__dealloc_mw = 80;
        public static final int ops__poll_cq = 96;
        public static final int ops__req_notify_cq = 104;
        public static final int ops__post_srq_recv = 168;
        public static final int ops__post_send = 208;
        public static final int ops__post_recv = 216;
        public static final int cmd_fd = 264;
        public static final int async_fd = 268;
        public static final int num_comp_vectors = 272;
        public static final int mutex = 280;
        public static final int abi_compat = 280 + pthread_mutex_t.SIZEOF;

        private ibv_context() {}
    }

    /** Fields in front of an {@code ibv_context} whose {@code abi_compat} is all ones. */
    final class verbs_context {
        public static final int SIZEOF = 608 + pthread_mutex_t.SIZEOF;
        public static final int query_port = 0;
        public static final int advise_mr = 8;
        public static final int create_cq_ex = 200;
        public static final int priv = 208;
        public static final int query_device_ex = 216;
        public static final int create_qp_ex = 264;
        public static final int create_srq_ex = 280;
        public static final int sz = 312;
        public static final int context = 320;

        private verbs_context() {}
    }

    /** Result of ibv_query_device. */
    final class ibv_device_attr {
        public static final int SIZEOF = 232;
        public static final int fw_ver = 0;
        public static final int node_guid = 64;
        public static final int sys_image_guid = 72;
        public static final int max_mr_size = 80;
        public static final int page_size_cap = 88;
        public static final int vendor_id = 96;
        public static final int vendor_part_id = 100;
        public static final int hw_ver = 104;
        public static final int max_qp = 108;
        public static final int max_qp_wr = 112;
        public static final int device_cap_flags = 116;
        public static final int max_sge = 120;
        public static final int max_sge_rd = 124;
        public static final int max_cq = 128;
        public static final int max_cqe = 132;
        public static final int max_mr = 136;
        public static final int max_pd = 140;
        public static final int max_qp_rd_atom = 144;
        public static final int max_ee_rd_atom = 148;
        public static final int max_res_rd_atom = 152;
        public static final int max_qp_init_rd_atom = 156;
        public static final int max_ee_init_rd_atom = 160;
        public static final int atomic_cap = 164;
        public static final int max_ee = 168;
        public static final int max_rdd = 172;
        public static final int max_mw = 176;
        public static final int max_raw_ipv6_qp = 180;
        public static final int max_raw_ethy_qp = 184;
        public static final int max_mcast_grp = 188;
        public static final int max_mcast_qp_attach = 192;
        public static final int max_total_mcast_qp_attach = 196;
        public static final int max_ah = 200;
        public static final int max_fmr = 204;
        public static final int max_map_per_fmr = 208;
        public static final int max_srq = 212;
        public static final int max_srq_wr = 216;
        public static final int max_srq_sge = 220;
        public static final int max_pkeys = 224;
        public static final int local_ca_ack_delay = 226;
        public static final int phys_port_cnt = 227;

        private ibv_device_attr() {}
    }

    /** The empty request of ibv_query_device_ex. */
    final class ibv_query_device_ex_input {
        public static final int SIZEOF = 4;
        public static final int comp_mask = 0;

        private ibv_query_device_ex_input() {}
    }

    /** Capabilities of on-demand paging. */
    final class ibv_odp_caps {
        public static final int SIZEOF = 24;
        public static final int general_caps = 0;
        public static final int per_transport_caps__rc_odp_caps = 8;
        public static final int per_transport_caps__uc_odp_caps = 12;
        public static final int per_transport_caps__ud_odp_caps = 16;

        private ibv_odp_caps() {}
    }

    /** Result of ibv_query_device_ex. */
    final class ibv_device_attr_ex {
        public static final int SIZEOF = 400;
        public static final int orig_attr = 0;
        public static final int comp_mask = 232;
        public static final int odp_caps = 240;
        public static final int odp_caps__general_caps = 240;
        public static final int odp_caps__per_transport_caps__rc_odp_caps = 248;
        public static final int odp_caps__per_transport_caps__uc_odp_caps = 252;
        public static final int odp_caps__per_transport_caps__ud_odp_caps = 256;
        public static final int completion_timestamp_mask = 264;
        public static final int hca_core_clock = 272;
        public static final int device_cap_flags_ex = 280;
        public static final int max_dm_size = 376;
        public static final int pci_atomic_caps = 384;
        public static final int xrc_odp_caps = 392;
        public static final int phys_port_cnt_ex = 396;

        private ibv_device_attr_ex() {}
    }

    /** Result of ibv_query_port; the exported function leaves out {@code port_cap_flags2}, see {@link IbVerbs}. */
    final class ibv_port_attr {
        public static final int SIZEOF = 52;
        public static final int state = 0;
        public static final int max_mtu = 4;
        public static final int active_mtu = 8;
        public static final int gid_tbl_len = 12;
        public static final int port_cap_flags = 16;
        public static final int max_msg_sz = 20;
        public static final int bad_pkey_cntr = 24;
        public static final int qkey_viol_cntr = 28;
        public static final int pkey_tbl_len = 32;
        public static final int lid = 34;
        public static final int sm_lid = 36;
        public static final int lmc = 38;
        public static final int max_vl_num = 39;
        public static final int sm_sl = 40;
        public static final int subnet_timeout = 41;
        public static final int init_type_reply = 42;
        public static final int active_width = 43;
        public static final int active_speed = 44;
        public static final int phys_state = 45;
        public static final int link_layer = 46;
        public static final int flags = 47;
        public static final int port_cap_flags2 = 48;

        private ibv_port_attr() {}
    }

    /** An address of a port: {@code union ibv_gid}, 16 bytes in network order. */
    final class ibv_gid {
        public static final int SIZEOF = 16;
        public static final int raw = 0;
        public static final int global__subnet_prefix = 0;
        public static final int global__interface_id = 8;

        private ibv_gid() {}
    }

    /** One row of _ibv_query_gid_table. */
    final class ibv_gid_entry {
        public static final int SIZEOF = 32;
        public static final int gid = 0;
        public static final int gid_index = 16;
        public static final int port_num = 20;
        public static final int gid_type = 24;
        public static final int ndev_ifindex = 28;

        private ibv_gid_entry() {}
    }

    /** Result of ibv_get_async_event. */
    final class ibv_async_event {
        public static final int SIZEOF = 16;
        public static final int element__cq = 0;
        public static final int element__qp = 0;
        public static final int element__srq = 0;
        public static final int element__wq = 0;
        public static final int element__port_num = 0;
        public static final int event_type = 8;

        private ibv_async_event() {}
    }
}
