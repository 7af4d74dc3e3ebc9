// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import java.util.List;
import jnr.ffi.annotations.In;
import jnr.ffi.types.size_t;
import jnr.ffi.types.ssize_t;
import jnr.ffi.types.u_int32_t;
import jnr.ffi.types.uintptr_t;

/**
 * The exported functions of libibverbs, under their C names; pointers are plain addresses.
 *
 * <p>Functions that return {@code int} return 0 or an errno (ibv_get_cq_event, ibv_get_async_event, ibv_query_gid,
 * ibv_query_pkey and ibv_destroy_comp_channel as documented by their man pages: some return -1 and set errno).
 *
 * <p>Functions that return an address return 0 and set errno. {@code static inline} functions of verbs.h are in
 * {@link ContextOps}.
 *
 * <p>At most five parameters: with six plain numbers jnr-ffi 2.3.0 and jffi 1.4.0 garble the sixth on x86-64.
 * {@code CallingConventionTest} calls every shape that occurs here.
 *
 * <p><b>Threading:</b> thread-safe, as the functions are. {@code errno} is saved per thread on each call; read it
 * through {@link NativeException#lastErrno()} before the next native call, also before {@link #ibv_wc_status_str}.
 *
 * <p><b>Ownership:</b> an object outlives its children; every address passed must be alive for the call.
 *
 * <p><b>Source:</b> infiniband/verbs.h of rdma-core 44, man section 3. Of versioned symbols, dlsym gives the default
 * one (IBVERBS_1.1), as a linker would.
 */
@SuppressWarnings("MemberName") // C names verbatim
public interface IbVerbs {
    /**
     * Returns the library, bound once on first use. Without it each call throws {@link UnsatisfiedLinkError} with the
     * loader's message as its cause.
     */
    static IbVerbs load() {
        return Holder.LIBRARY.functions();
    }

    /**
     * Returns the names of the functions that the library of this machine lacks, in order; throws what {@link #load}
     * throws.
     */
    static List<String> missing() {
        return Holder.LIBRARY.missing();
    }

    /** Returns the first of a list of device addresses that a 0 ends, and stores their number at {@code numDevices}. */
    @uintptr_t
    long ibv_get_device_list(@uintptr_t long numDevices);

    void ibv_free_device_list(@uintptr_t long list);

    String ibv_get_device_name(@uintptr_t long device);

    /** Returns the GUID in network order: on the little-endian machines supported here, with its bytes reversed. */
    long ibv_get_device_guid(@uintptr_t long device);

    @uintptr_t
    long ibv_open_device(@uintptr_t long device);

    int ibv_close_device(@uintptr_t long context);

    int ibv_query_device(@uintptr_t long context, @uintptr_t long deviceAttr);

    /**
     * Fills {@code ibv_port_attr} except its last field.
     *
     * <p>The exported function is the compatible one: the provider fills a complete struct, and the first 48 of its 52
     * bytes are copied out (read in rdma-core 44). So everything up to and including {@code link_layer} and
     * {@code flags} is reliable, and {@code port_cap_flags2} is left as it was. In C, {@code ibv_query_port} is a macro
     * that reaches the complete one through the context: {@link ContextOps#ibv_query_port}.
     */
    int ibv_query_port(@uintptr_t long context, int port, @uintptr_t long portAttr);

    /** Fills one {@code ibv_gid}; returns -1 on failure. */
    int ibv_query_gid(@uintptr_t long context, int port, int index, @uintptr_t long gid);

    /** Stores 2 bytes in network order at {@code pkey}; returns -1 on failure. */
    int ibv_query_pkey(@uintptr_t long context, int port, int index, @uintptr_t long pkey);

    /** Fills rows of {@code ibv_gid_entry}; returns their number, or a negative errno. {@code flags} is 0. */
    @ssize_t
    long _ibv_query_gid_table(
            @uintptr_t long context,
            @uintptr_t long entries,
            @size_t long maxEntries,
            @u_int32_t int flags,
            @size_t long entrySize);

    @uintptr_t
    long ibv_alloc_pd(@uintptr_t long context);

    int ibv_dealloc_pd(@uintptr_t long pd);

    /**
     * Registers memory. The exported function does all that the macro of verbs.h does: it forwards to ibv_reg_mr_iova2,
     * which drops optional access flags (IBV_ACCESS_RELAXED_ORDERING) where the kernel does not know them.
     */
    @uintptr_t
    long ibv_reg_mr(@uintptr_t long pd, @uintptr_t long address, @size_t long length, int access);

    int ibv_dereg_mr(@uintptr_t long mr);

    @uintptr_t
    long ibv_create_comp_channel(@uintptr_t long context);

    int ibv_destroy_comp_channel(@uintptr_t long channel);

    /** Creates a queue; {@code channel} may be 0. */
    @uintptr_t
    long ibv_create_cq(
            @uintptr_t long context, int cqe, @uintptr_t long cqContext, @uintptr_t long channel, int completionVector);

    int ibv_destroy_cq(@uintptr_t long cq);

    /** Blocks unless the channel's descriptor is non-blocking; returns -1 and sets errno. */
    int ibv_get_cq_event(@uintptr_t long channel, @uintptr_t long cqPointer, @uintptr_t long cqContextPointer);

    void ibv_ack_cq_events(@uintptr_t long cq, @u_int32_t int events);

    @uintptr_t
    long ibv_create_srq(@uintptr_t long pd, @uintptr_t long srqInitAttr);

    int ibv_modify_srq(@uintptr_t long srq, @uintptr_t long srqAttr, int mask);

    int ibv_query_srq(@uintptr_t long srq, @uintptr_t long srqAttr);

    int ibv_destroy_srq(@uintptr_t long srq);

    @uintptr_t
    long ibv_create_qp(@uintptr_t long pd, @uintptr_t long qpInitAttr);

    int ibv_modify_qp(@uintptr_t long qp, @uintptr_t long qpAttr, int mask);

    int ibv_query_qp(@uintptr_t long qp, @uintptr_t long qpAttr, int mask, @uintptr_t long qpInitAttr);

    int ibv_destroy_qp(@uintptr_t long qp);

    @uintptr_t
    long ibv_create_ah(@uintptr_t long pd, @uintptr_t long ahAttr);

    /** Creates a handle for the sender of a datagram; reads {@code grh} if the {@code ibv_wc} says there is one. */
    @uintptr_t
    long ibv_create_ah_from_wc(@uintptr_t long pd, @uintptr_t long wc, @uintptr_t long grh, int port);

    int ibv_destroy_ah(@uintptr_t long ah);

    /** Blocks unless the context's async descriptor is non-blocking; returns -1 and sets errno. */
    int ibv_get_async_event(@uintptr_t long context, @uintptr_t long event);

    void ibv_ack_async_event(@uintptr_t long event);

    String ibv_wc_status_str(@In int status);

    String ibv_event_type_str(@In int event);

    String ibv_node_type_str(@In int nodeType);

    String ibv_port_state_str(@In int portState);

    /** Makes registered memory safe across fork, at a price; must come first. Returns 0 or an errno. */
    int ibv_fork_init();

    /** Binds on first use of {@link #load}: mentioning the interface loads no native code. */
    final class Holder {
        private static final SharedLibrary<IbVerbs> LIBRARY = SharedLibrary.bind(
                IbVerbs.class, "libibverbs.so.1", "install rdma-core (Debian: libibverbs1, ibverbs-providers)");

        private Holder() {}
    }
}
