// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * Layout of work requests and completions, what hot calls read and write; use it as {@link VerbsLayout}.
 *
 * <p>Each nested class is a C struct under its C name: {@code SIZEOF}, and the offset of each field in bytes. A double
 * underscore stands for the dot of a nested field. {@code AbiContract} compares every number with the headers.
 *
 * <p><b>Threading:</b> constants.
 *
 * <p><b>Source:</b> infiniband/verbs.h of rdma-core 44; 64-bit Linux.
 */
@SuppressWarnings("MemberName") // C names verbatim
public interface WorkLayout {
    /** One piece of local memory. */
    final class ibv_sge {
        public static final int SIZEOF = 16;
        public static final int addr = 0;
        public static final int length = 8;
        public static final int lkey = 12;

        private ibv_sge() {}
    }

    /**
     * A request on a send queue. {@code imm_data} is in network order and shares its place with
     * {@code invalidate_rkey}.
     */
    final class ibv_send_wr {
        public static final int SIZEOF = 128;
        public static final int wr_id = 0;
        public static final int next = 8;
        public static final int sg_list = 16;
        public static final int num_sge = 24;
        public static final int opcode = 28;
        public static final int send_flags = 32;
        public static final int imm_data = 36;
        public static final int invalidate_rkey = 36;
        public static final int wr__rdma__remote_addr = 40;
        public static final int wr__rdma__rkey = 48;
        public static final int wr__atomic__remote_addr = 40;
        public static final int wr__atomic__compare_add = 48;
        public static final int wr__atomic__swap = 56;
        public static final int wr__atomic__rkey = 64;
        public static final int wr__ud__ah = 40;
        public static final int wr__ud__remote_qpn = 48;
        public static final int wr__ud__remote_qkey = 52;
        public static final int qp_type__xrc__remote_srqn = 72;
        public static final int bind_mw__mw = 80;
        public static final int bind_mw__rkey = 88;
        public static final int bind_mw__bind_info = 96;
        public static final int bind_mw__bind_info__mr = 96;
        public static final int bind_mw__bind_info__addr = 104;
        public static final int bind_mw__bind_info__length = 112;
        public static final int bind_mw__bind_info__mw_access_flags = 120;
        public static final int tso__hdr = 80;
        public static final int tso__hdr_sz = 88;
        public static final int tso__mss = 90;

        private ibv_send_wr() {}
    }

    /** A request on a receive queue. */
    final class ibv_recv_wr {
        public static final int SIZEOF = 32;
        public static final int wr_id = 0;
        public static final int next = 8;
        public static final int sg_list = 16;
        public static final int num_sge = 24;

        private ibv_recv_wr() {}
    }

    /**
     * A completion. After an error only {@code wr_id}, {@code status}, {@code qp_num} and {@code vendor_err} are valid.
     */
    final class ibv_wc {
        public static final int SIZEOF = 48;
        public static final int wr_id = 0;
        public static final int status = 8;
        public static final int opcode = 12;
        public static final int vendor_err = 16;
        public static final int byte_len = 20;
        public static final int imm_data = 24;
        public static final int invalidated_rkey = 24;
        public static final int qp_num = 28;
        public static final int src_qp = 32;
        public static final int wc_flags = 36;
        public static final int pkey_index = 40;
        public static final int slid = 42;
        public static final int sl = 44;
        public static final int dlid_path_bits = 45;

        private ibv_wc() {}
    }

    /** Route header that the device writes in front of each datagram; over IPv4 the last 20 bytes are the IP header. */
    final class ibv_grh {
        public static final int SIZEOF = 40;
        public static final int version_tclass_flow = 0;
        public static final int paylen = 4;
        public static final int next_hdr = 6;
        public static final int hop_limit = 7;
        public static final int sgid = 8;
        public static final int dgid = 24;

        private ibv_grh() {}
    }

    /** Target and rights of a memory window. */
    final class ibv_mw_bind_info {
        public static final int SIZEOF = 32;
        public static final int mr = 0;
        public static final int addr = 8;
        public static final int length = 16;
        public static final int mw_access_flags = 24;

        private ibv_mw_bind_info() {}
    }

    /** Request of ibv_bind_mw, for windows of type 1. */
    final class ibv_mw_bind {
        public static final int SIZEOF = 48;
        public static final int wr_id = 0;
        public static final int send_flags = 8;
        public static final int bind_info = 16;
        public static final int bind_info__mr = 16;
        public static final int bind_info__addr = 24;
        public static final int bind_info__length = 32;
        public static final int bind_info__mw_access_flags = 40;

        private ibv_mw_bind() {}
    }
}
