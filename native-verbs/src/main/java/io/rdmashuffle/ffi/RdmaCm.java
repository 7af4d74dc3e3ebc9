// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import java.util.List;
import jnr.ffi.annotations.In;
import jnr.ffi.types.size_t;
import jnr.ffi.types.u_int16_t;
import jnr.ffi.types.u_int8_t;
import jnr.ffi.types.uintptr_t;

/**
 * The exported functions of librdmacm, under their C names; pointers are plain addresses.
 *
 * <p>Functions that return {@code int} return 0, or -1 and set errno. Functions that return an address return 0 and set
 * errno. Results of the asynchronous ones arrive as events.
 *
 * <p><b>Threading:</b> thread-safe, as the functions are. {@code errno} is saved per thread on each call; read it
 * through {@link NativeException#lastErrno()} before the next native call.
 *
 * <p><b>Ownership:</b> rdma_destroy_id waits until every event of the identifier is acknowledged: copy the required
 * fields of the event, then acknowledge it.
 *
 * <p><b>Source:</b> rdma/rdma_cma.h of rdma-core 44, man section 3. {@code rdma_establish} and
 * {@code rdma_init_qp_attr} are RDMACM_1.2 (rdma-core 23); all others are older. A function that the library lacks
 * throws {@link UnsatisfiedLinkError} when it is called.
 */
@SuppressWarnings("MemberName") // C names verbatim
public interface RdmaCm {
    /**
     * Returns the library, bound once on first use. Without it each call throws {@link UnsatisfiedLinkError} with the
     * loader's message as its cause.
     */
    static RdmaCm load() {
        return Holder.LIBRARY.functions();
    }

    /**
     * Returns the names of the functions that the library of this machine lacks, in order; throws what {@link #load}
     * throws.
     */
    static List<String> missing() {
        return Holder.LIBRARY.missing();
    }

    @uintptr_t
    long rdma_create_event_channel();

    void rdma_destroy_event_channel(@uintptr_t long channel);

    int rdma_create_id(@uintptr_t long channel, @uintptr_t long idPointer, @uintptr_t long context, int portSpace);

    int rdma_destroy_id(@uintptr_t long id);

    int rdma_bind_addr(@uintptr_t long id, @uintptr_t long address);

    /** {@code source} may be 0. */
    int rdma_resolve_addr(@uintptr_t long id, @uintptr_t long source, @uintptr_t long destination, int timeoutMillis);

    int rdma_resolve_route(@uintptr_t long id, int timeoutMillis);

    int rdma_listen(@uintptr_t long id, int backlog);

    int rdma_connect(@uintptr_t long id, @uintptr_t long connParam);

    int rdma_accept(@uintptr_t long id, @uintptr_t long connParam);

    /** The length is unsigned: {@code (byte) 148} is 148. */
    int rdma_reject(@uintptr_t long id, @uintptr_t long privateData, @u_int8_t byte privateDataLength);

    int rdma_establish(@uintptr_t long id);

    int rdma_disconnect(@uintptr_t long id);

    int rdma_notify(@uintptr_t long id, int event);

    /** Blocks unless the channel's descriptor is non-blocking. */
    int rdma_get_cm_event(@uintptr_t long channel, @uintptr_t long eventPointer);

    int rdma_ack_cm_event(@uintptr_t long event);

    String rdma_event_str(@In int event);

    /** {@code pd} may be 0 for the device's default one. */
    int rdma_create_qp(@uintptr_t long id, @uintptr_t long pd, @uintptr_t long qpInitAttr);

    void rdma_destroy_qp(@uintptr_t long id);

    int rdma_init_qp_attr(@uintptr_t long id, @uintptr_t long qpAttr, @uintptr_t long maskPointer);

    /** Returns the port in network order, 0 to 65535 with its two bytes swapped. */
    @u_int16_t
    int rdma_get_src_port(@uintptr_t long id);

    /** Returns the port in network order, 0 to 65535 with its two bytes swapped. */
    @u_int16_t
    int rdma_get_dst_port(@uintptr_t long id);

    int rdma_set_option(@uintptr_t long id, int level, int optionName, @uintptr_t long value, @size_t long valueLength);

    /** Returns the first of a list of {@code ibv_context} addresses that a 0 ends. */
    @uintptr_t
    long rdma_get_devices(@uintptr_t long numDevices);

    void rdma_free_devices(@uintptr_t long list);

    int rdma_migrate_id(@uintptr_t long id, @uintptr_t long channel);

    /** Binds on first use of {@link #load}: mentioning the interface loads no native code. */
    final class Holder {
        private static final SharedLibrary<RdmaCm> LIBRARY =
                SharedLibrary.bind(RdmaCm.class, "librdmacm.so.1", "install rdma-core (Debian: librdmacm1)");

        private Holder() {}
    }
}
