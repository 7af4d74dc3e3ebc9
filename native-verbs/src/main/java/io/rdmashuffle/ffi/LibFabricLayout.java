// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * Layout of the structs of libfabric, as far as they are used.
 *
 * <p>Each nested class is a C struct under its C name: {@code SIZEOF}, and the offset of each field in bytes. A double
 * underscore stands for the dot of a nested field. The ABI test compares every number with the headers. Structs that
 * newer versions add fields to are allocated by the library, or have room here for those of 2.1.
 *
 * <p><b>Threading:</b> constants.
 *
 * <p><b>Source:</b> rdma/fabric.h, fi_domain.h, fi_endpoint.h, fi_rma.h, fi_cm.h and fi_eq.h of libfabric 1.17 and 2.1;
 * 64-bit Linux.
 */
@SuppressWarnings("MemberName") // C names verbatim
public interface LibFabricLayout {
    /** An offer of this machine, or a wish; a list. */
    final class fi_info {
        public static final int next = 0;
        public static final int caps = 8;
        public static final int mode = 16;
        public static final int addr_format = 24;
        public static final int src_addrlen = 32;
        public static final int src_addr = 48;
        public static final int tx_attr = 72;
        public static final int ep_attr = 88;
        public static final int domain_attr = 96;
        public static final int fabric_attr = 104;

        private fi_info() {}
    }

    /** Attributes of sending and of reads. */
    final class fi_tx_attr {
        public static final int size = 48;

        private fi_tx_attr() {}
    }

    /** Attributes of endpoints. */
    final class fi_ep_attr {
        public static final int type = 0;
        public static final int max_msg_size = 16;

        private fi_ep_attr() {}
    }

    /** Attributes of a domain. */
    final class fi_domain_attr {
        public static final int name = 8;
        public static final int threading = 16;
        public static final int resource_mgmt = 28;
        public static final int av_type = 32;
        public static final int mr_mode = 36;
        public static final int mr_key_size = 40;

        private fi_domain_attr() {}
    }

    /** Attributes of a fabric. */
    final class fi_fabric_attr {
        public static final int name = 8;
        public static final int prov_name = 16;

        private fi_fabric_attr() {}
    }

    /** What every object begins with. */
    final class fid {
        public static final int SIZEOF = 24;
        public static final int ops = 16;

        private fid() {}
    }

    /** Functions of every object. */
    final class fi_ops {
        public static final int size = 0;
        public static final int close = 8;
        public static final int bind = 16;
        public static final int control = 24;

        private fi_ops() {}
    }

    /** A fabric. */
    final class fid_fabric {
        public static final int ops = 24;

        private fid_fabric() {}
    }

    /** Functions of a fabric. */
    final class fi_ops_fabric {
        public static final int domain = 8;
        public static final int trywait = 40;

        private fi_ops_fabric() {}
    }

    /** A domain. */
    final class fid_domain {
        public static final int ops = 24;
        public static final int mr = 32;

        private fid_domain() {}
    }

    /** Functions of a domain. */
    final class fi_ops_domain {
        public static final int av_open = 8;
        public static final int cq_open = 16;
        public static final int endpoint = 24;

        private fi_ops_domain() {}
    }

    /** Functions that register memory. */
    final class fi_ops_mr {
        public static final int regattr = 24;

        private fi_ops_mr() {}
    }

    /** Registered memory. */
    final class fid_mr {
        public static final int mem_desc = 24;
        public static final int key = 32;

        private fid_mr() {}
    }

    /** Request of a registration; {@code ROOM} has fields of newer versions. */
    final class fi_mr_attr {
        public static final int ROOM = 192;
        public static final int mr_iov = 0;
        public static final int iov_count = 8;
        public static final int access = 16;
        public static final int offset = 24;
        public static final int requested_key = 32;

        private fi_mr_attr() {}
    }

    /** Request of an address vector. */
    final class fi_av_attr {
        public static final int SIZEOF = 48;
        public static final int type = 0;
        public static final int count = 8;

        private fi_av_attr() {}
    }

    /** An address vector. */
    final class fid_av {
        public static final int ops = 24;

        private fid_av() {}
    }

    /** Functions of an address vector. */
    final class fi_ops_av {
        public static final int insert = 8;
        public static final int remove = 32;

        private fi_ops_av() {}
    }

    /** Request of a completion queue. */
    final class fi_cq_attr {
        public static final int SIZEOF = 40;
        public static final int size = 0;
        public static final int format = 16;
        public static final int wait_obj = 20;

        private fi_cq_attr() {}
    }

    /** A completion queue. */
    final class fid_cq {
        public static final int ops = 24;

        private fid_cq() {}
    }

    /** Functions of a completion queue. */
    final class fi_ops_cq {
        public static final int read = 8;
        public static final int readerr = 24;
        public static final int strerror = 56;

        private fi_ops_cq() {}
    }

    /** A completion. */
    final class fi_cq_msg_entry {
        public static final int SIZEOF = 24;
        public static final int op_context = 0;
        public static final int flags = 8;
        public static final int len = 16;

        private fi_cq_msg_entry() {}
    }

    /** A failed operation; {@code ROOM} has fields of newer versions. */
    final class fi_cq_err_entry {
        public static final int ROOM = 128;
        public static final int op_context = 0;
        public static final int flags = 8;
        public static final int err = 56;
        public static final int prov_errno = 60;
        public static final int err_data = 64;

        private fi_cq_err_entry() {}
    }

    /** An endpoint. */
    final class fid_ep {
        public static final int cm = 32;
        public static final int msg = 40;
        public static final int rma = 48;

        private fid_ep() {}
    }

    /** Functions for addresses and connections. */
    final class fi_ops_cm {
        public static final int getname = 16;

        private fi_ops_cm() {}
    }

    /** Functions for messages. */
    final class fi_ops_msg {
        public static final int recvmsg = 24;
        public static final int sendmsg = 48;

        private fi_ops_msg() {}
    }

    /** Functions for remote memory. */
    final class fi_ops_rma {
        public static final int readmsg = 24;

        private fi_ops_rma() {}
    }

    /** A piece of local memory. */
    final class iovec {
        public static final int SIZEOF = 16;
        public static final int iov_base = 0;
        public static final int iov_len = 8;

        private iovec() {}
    }

    /** A piece of remote memory. */
    final class fi_rma_iov {
        public static final int SIZEOF = 24;
        public static final int addr = 0;
        public static final int len = 8;
        public static final int key = 16;

        private fi_rma_iov() {}
    }

    /** A message. */
    final class fi_msg {
        public static final int SIZEOF = 48;
        public static final int msg_iov = 0;
        public static final int desc = 8;
        public static final int iov_count = 16;
        public static final int addr = 24;
        public static final int context = 32;
        public static final int data = 40;

        private fi_msg() {}
    }

    /** A read or write of remote memory. */
    final class fi_msg_rma {
        public static final int SIZEOF = 64;
        public static final int msg_iov = 0;
        public static final int desc = 8;
        public static final int iov_count = 16;
        public static final int addr = 24;
        public static final int rma_iov = 32;
        public static final int rma_iov_count = 40;
        public static final int context = 48;
        public static final int data = 56;

        private fi_msg_rma() {}
    }

    /** Memory that a provider uses while an operation is under way. */
    final class fi_context2 {
        public static final int SIZEOF = 64;

        private fi_context2() {}
    }
}
