// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * Layout of every struct that crosses the border to libibverbs, and of three that sockets and poll(2) need.
 *
 * <p>The verbs structs are inherited, in three files for their length: {@code VerbsLayout.ibv_wc.SIZEOF} is one name
 * for {@code WorkLayout.ibv_wc.SIZEOF}.
 *
 * <p>Each nested class is a C struct under its C name: {@code SIZEOF}, and the offset of each field in bytes. A double
 * underscore stands for the dot of a nested field. {@code AbiContract} compares every number with the headers.
 *
 * <p><b>Threading:</b> constants.
 *
 * <p><b>Source:</b> infiniband/verbs.h of rdma-core 44, poll.h, netinet/in.h; 64-bit Linux.
 */
@SuppressWarnings("MemberName") // C names verbatim
public final class VerbsLayout implements DeviceLayout, QueueLayout, WorkLayout {
    private VerbsLayout() {}

    /** One descriptor that poll(2) watches. */
    public static final class pollfd {
        public static final int SIZEOF = 8;
        public static final int fd = 0;
        public static final int events = 4;
        public static final int revents = 6;

        private pollfd() {}
    }

    /** An IPv4 address; port and address in network order. */
    public static final class sockaddr_in {
        public static final int SIZEOF = 16;
        public static final int sin_family = 0;
        public static final int sin_port = 2;
        public static final int sin_addr = 4;

        private sockaddr_in() {}
    }

    /** An IPv6 address; port, flow and address in network order. */
    public static final class sockaddr_in6 {
        public static final int SIZEOF = 28;
        public static final int sin6_family = 0;
        public static final int sin6_port = 2;
        public static final int sin6_flowinfo = 4;
        public static final int sin6_addr = 8;
        public static final int sin6_scope_id = 24;

        private sockaddr_in6() {}
    }
}
