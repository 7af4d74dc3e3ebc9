// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * Constants of libfabric, as far as they are used, under their C names.
 *
 * <p><b>Threading:</b> constants.
 *
 * <p><b>Source:</b> rdma/fabric.h, fi_domain.h, fi_eq.h and fi_errno.h of libfabric 1.17 and 2.1.
 */
public final class LibFabricConstants {
    public static final long FI_MSG = 1L << 1;
    public static final long FI_RMA = 1L << 2;
    public static final long FI_READ = 1L << 8;
    public static final long FI_RECV = 1L << 10;
    public static final long FI_SEND = 1L << 11;
    public static final long FI_REMOTE_READ = 1L << 12;
    public static final long FI_COMPLETION = 1L << 24;
    public static final long FI_TRANSMIT = FI_SEND;

    public static final long FI_CONTEXT = 1L << 59;
    public static final long FI_CONTEXT2 = 1L << 52;

    public static final int FI_MR_LOCAL = 1 << 2;
    public static final int FI_MR_VIRT_ADDR = 1 << 4;
    public static final int FI_MR_ALLOCATED = 1 << 5;
    public static final int FI_MR_PROV_KEY = 1 << 6;
    public static final int FI_MR_ENDPOINT = 1 << 9;

    public static final int FI_EP_RDM = 3;
    public static final int FI_THREAD_SAFE = 1;
    public static final int FI_RM_ENABLED = 2;
    public static final int FI_AV_UNSPEC = 0;

    public static final int FI_CQ_FORMAT_MSG = 2;
    public static final int FI_WAIT_NONE = 0;
    public static final int FI_WAIT_FD = 3;

    public static final int FI_GETWAIT = 5;
    public static final int FI_ENABLE = 6;

    public static final int FI_EAVAIL = 259;
    public static final int FI_EOTHER = 256;

    private LibFabricConstants() {}
}
