// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

/**
 * The {@code static inline} functions of verbs.h: what a program calls through the function pointers of a context.
 *
 * <p>An interface, so that tests need no device. All objects passed must belong to the context it was made for.
 *
 * <p><b>Threading:</b> thread-safe, as the functions are: calls for one queue from several threads are allowed by
 * libibverbs. <b>Ownership:</b> valid while the context is open; it owns nothing.
 *
 * <p><b>Source:</b> infiniband/verbs.h of rdma-core 44, man section 3.
 */
@SuppressWarnings("MemberName") // C names verbatim
public interface ContextOps {
    /** Returns the functions of an open {@code ibv_context}. */
    static ContextOps of(long context) {
        return new NativeContextOps(context);
    }

    /** Fills up to {@code entries} of {@code ibv_wc}; returns how many, or a negative number. errno is not saved. */
    int ibv_poll_cq(long cq, int entries, long wcArray);

    /** Requests one event at the next completion. Returns 0 or an errno. */
    int ibv_req_notify_cq(long cq, int solicitedOnly);

    /**
     * Posts a chain of {@code ibv_send_wr}. Returns 0, or an errno with the first refused one at {@code badWrPointer}.
     */
    int ibv_post_send(long qp, long wr, long badWrPointer);

    /** Posts a chain of {@code ibv_recv_wr}; otherwise as {@link #ibv_post_send}. */
    int ibv_post_recv(long qp, long wr, long badWrPointer);

    /** Posts a chain of {@code ibv_recv_wr} to a shared queue; otherwise as {@link #ibv_post_send}. */
    int ibv_post_srq_recv(long srq, long wr, long badWrPointer);

    /** Returns an {@code ibv_mw}, or 0 with errno set: read it through {@link NativeException#lastErrno()}. */
    long ibv_alloc_mw(long pd, int type);

    /** Returns 0 or an errno. */
    int ibv_dealloc_mw(long mw);

    /** Binds a window of type 1 by {@code ibv_mw_bind}, with the checks of verbs.h. Returns 0 or an errno. */
    int ibv_bind_mw(long qp, long mw, long bind);

    /**
     * Advises about ranges of registered memory, through the {@code verbs_context} that lies in front of a context.
     *
     * @param pd the domain of the regions
     * @param advice {@code IBV_ADVISE_MR_ADVICE_PREFETCH} or another of them
     * @param flags 0 or {@code IBV_ADVISE_MR_FLAG_FLUSH}
     * @param sgList array of {@code ibv_sge}, whose lkeys name the regions
     * @param numSge its length
     * @return 0 or an errno; EOPNOTSUPP when library or provider lack the function
     */
    int ibv_advise_mr(long pd, int advice, int flags, long sgList, int numSge);

    /**
     * Fills {@code ibv_device_attr_ex} through the {@code verbs_context} that lies in front of a context.
     *
     * <p>Unlike the inline function it does not fall back to ibv_query_device: the caller asks that one anyway.
     *
     * @param context an open context
     * @param input an {@code ibv_query_device_ex_input} or 0
     * @param attr {@code ibv_device_attr_ex}, {@link VerbsLayout.ibv_device_attr_ex#SIZEOF} bytes
     * @return 0 or an errno; EOPNOTSUPP when library or provider lack the function
     */
    static int ibv_query_device_ex(long context, long input, long attr) {
        return ExtendedVerbs.queryDevice(context, input, attr);
    }

    /**
     * Fills the whole {@code ibv_port_attr}, also {@code port_cap_flags2}, as the macro of that name does.
     *
     * @return 0 or an errno; EOPNOTSUPP when the library lacks the extended function: {@link IbVerbs#ibv_query_port}
     *     has all but the last field
     */
    static int ibv_query_port(long context, int port, long attr) {
        return ExtendedVerbs.queryPort(context, port, attr);
    }
}
