// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * Layout of protection domains, memory, queues and their attributes; use it as {@link VerbsLayout}.
 *
 * <p>Each nested class is a C struct under its C name: {@code SIZEOF}, and the offset of each field in bytes. A double
 * underscore stands for the dot of a nested field. {@code AbiContract} compares every number with the headers.
 *
 * <p><b>Threading:</b> constants.
 *
 * <p><b>Source:</b> infiniband/verbs.h of rdma-core 44; 64-bit Linux.
 */
@SuppressWarnings("MemberName") // C names verbatim
public interface QueueLayout {
    /** A protection domain. */
    final class ibv_pd {
        public static final int SIZEOF = 16;
        public static final int context = 0;
        public static final int handle = 8;

        private ibv_pd() {}
    }

    /** A memory region. */
    final class ibv_mr {
        public static final int SIZEOF = 48;
        public static final int context = 0;
        public static final int pd = 8;
        public static final int addr = 16;
        public static final int length = 24;
        public static final int handle = 32;
        public static final int lkey = 36;
        public static final int rkey = 40;

        private ibv_mr() {}
    }

    /** A memory window. */
    final class ibv_mw {
        public static final int SIZEOF = 32;
        public static final int context = 0;
        public static final int pd = 8;
        public static final int rkey = 16;
        public static final int handle = 20;
        public static final int type = 24;

        private ibv_mw() {}
    }

    /** A completion channel. */
    final class ibv_comp_channel {
        public static final int SIZEOF = 16;
        public static final int context = 0;
        public static final int fd = 8;
        public static final int refcnt = 12;

        private ibv_comp_channel() {}
    }

    /** A completion queue. */
    final class ibv_cq {
        public static final int SIZEOF = 88 + DeviceLayout.pthread_mutex_t.SIZEOF;
        public static final int context = 0;
        public static final int channel = 8;
        public static final int cq_context = 16;
        public static final int handle = 24;
        public static final int cqe = 28;

        private ibv_cq() {}
    }

    /** Sizes and limit of a shared receive queue. */
    final class ibv_srq_attr {
        public static final int SIZEOF = 12;
        public static final int max_wr = 0;
        public static final int max_sge = 4;
        public static final int srq_limit = 8;

        private ibv_srq_attr() {}
    }

    /** Request of ibv_create_srq, which writes the granted sizes back. */
    final class ibv_srq_init_attr {
        public static final int SIZEOF = 24;
        public static final int srq_context = 0;
        public static final int attr = 8;
        public static final int attr__max_wr = 8;
        public static final int attr__max_sge = 12;
        public static final int attr__srq_limit = 16;

        private ibv_srq_init_attr() {}
    }

    /** A shared receive queue. */
    final class ibv_srq {
        public static final int SIZEOF = 88 + DeviceLayout.pthread_mutex_t.SIZEOF;
        public static final int context = 0;
        public static final int srq_context = 8;
        public static final int pd = 16;
        public static final int handle = 24;

        private ibv_srq() {}
    }

    /** Sizes of a queue pair. */
    final class ibv_qp_cap {
        public static final int SIZEOF = 20;
        public static final int max_send_wr = 0;
        public static final int max_recv_wr = 4;
        public static final int max_send_sge = 8;
        public static final int max_recv_sge = 12;
        public static final int max_inline_data = 16;

        private ibv_qp_cap() {}
    }

    /** Request of ibv_create_qp and rdma_create_qp, which write the granted sizes back. */
    final class ibv_qp_init_attr {
        public static final int SIZEOF = 64;
        public static final int qp_context = 0;
        public static final int send_cq = 8;
        public static final int recv_cq = 16;
        public static final int srq = 24;
        public static final int cap = 32;
        public static final int cap__max_send_wr = 32;
        public static final int cap__max_recv_wr = 36;
        public static final int cap__max_send_sge = 40;
        public static final int cap__max_recv_sge = 44;
        public static final int cap__max_inline_data = 48;
        public static final int qp_type = 52;
        public static final int sq_sig_all = 56;

        private ibv_qp_init_attr() {}
    }

    /** A queue pair. */
    final class ibv_qp {
        public static final int SIZEOF = 120 + DeviceLayout.pthread_mutex_t.SIZEOF;
        public static final int context = 0;
        public static final int qp_context = 8;
        public static final int pd = 16;
        public static final int send_cq = 24;
        public static final int recv_cq = 32;
        public static final int srq = 40;
        public static final int handle = 48;
        public static final int qp_num = 52;
        public static final int state = 56;
        public static final int qp_type = 60;

        private ibv_qp() {}
    }

    /** The routed part of an address vector. */
    final class ibv_global_route {
        public static final int SIZEOF = 24;
        public static final int dgid = 0;
        public static final int flow_label = 16;
        public static final int sgid_index = 20;
        public static final int hop_limit = 21;
        public static final int traffic_class = 22;

        private ibv_global_route() {}
    }

    /** An address vector. */
    final class ibv_ah_attr {
        public static final int SIZEOF = 32;
        public static final int grh = 0;
        public static final int grh__dgid = 0;
        public static final int grh__flow_label = 16;
        public static final int grh__sgid_index = 20;
        public static final int grh__hop_limit = 21;
        public static final int grh__traffic_class = 22;
        public static final int dlid = 24;
        public static final int sl = 26;
        public static final int src_path_bits = 27;
        public static final int static_rate = 28;
        public static final int is_global = 29;
        public static final int port_num = 30;

        private ibv_ah_attr() {}
    }

    /** An address handle. */
    final class ibv_ah {
        public static final int SIZEOF = 24;
        public static final int context = 0;
        public static final int pd = 8;
        public static final int handle = 16;

        private ibv_ah() {}
    }

    /** Request of ibv_modify_qp, answer of ibv_query_qp and rdma_init_qp_attr. */
    final class ibv_qp_attr {
        public static final int SIZEOF = 144;
        public static final int qp_state = 0;
        public static final int cur_qp_state = 4;
        public static final int path_mtu = 8;
        public static final int path_mig_state = 12;
        public static final int qkey = 16;
        public static final int rq_psn = 20;
        public static final int sq_psn = 24;
        public static final int dest_qp_num = 28;
        public static final int qp_access_flags = 32;
        public static final int cap = 36;
        public static final int cap__max_send_wr = 36;
        public static final int cap__max_recv_wr = 40;
        public static final int cap__max_send_sge = 44;
        public static final int cap__max_recv_sge = 48;
        public static final int cap__max_inline_data = 52;
        public static final int ah_attr = 56;
        public static final int ah_attr__grh = 56;
        public static final int ah_attr__grh__dgid = 56;
        public static final int ah_attr__grh__flow_label = 72;
        public static final int ah_attr__grh__sgid_index = 76;
        public static final int ah_attr__grh__hop_limit = 77;
        public static final int ah_attr__grh__traffic_class = 78;
        public static final int ah_attr__dlid = 80;
        public static final int ah_attr__sl = 82;
        public static final int ah_attr__src_path_bits = 83;
        public static final int ah_attr__static_rate = 84;
        public static final int ah_attr__is_global = 85;
        public static final int ah_attr__port_num = 86;
        public static final int alt_ah_attr = 88;
        public static final int alt_ah_attr__grh = 88;
        public static final int alt_ah_attr__grh__dgid = 88;
        public static final int alt_ah_attr__grh__flow_label = 104;
        public static final int alt_ah_attr__grh__sgid_index = 108;
        public static final int alt_ah_attr__grh__hop_limit = 109;
        public static final int alt_ah_attr__grh__traffic_class = 110;
        public static final int alt_ah_attr__dlid = 112;
        public static final int alt_ah_attr__sl = 114;
        public static final int alt_ah_attr__src_path_bits = 115;
        public static final int alt_ah_attr__static_rate = 116;
        public static final int alt_ah_attr__is_global = 117;
        public static final int alt_ah_attr__port_num = 118;
        public static final int pkey_index = 120;
        public static final int alt_pkey_index = 122;
        public static final int en_sqd_async_notify = 124;
        public static final int sq_draining = 125;
        public static final int max_rd_atomic = 126;
        public static final int max_dest_rd_atomic = 127;
        public static final int min_rnr_timer = 128;
        public static final int port_num = 129;
        public static final int timeout = 130;
        public static final int retry_cnt = 131;
        public static final int rnr_retry = 132;
        public static final int alt_port_num = 133;
        public static final int alt_timeout = 134;
        public static final int rate_limit = 136;

        private ibv_qp_attr() {}
    }
}
