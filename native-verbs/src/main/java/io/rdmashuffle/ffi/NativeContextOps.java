// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.CallContext;
import com.kenai.jffi.Invoker;
import com.kenai.jffi.LastError;
import com.kenai.jffi.Type;

/**
 * Calls the function pointers in the memory of an {@code ibv_context}.
 *
 * <p>The pointer is read at each call, as the inline functions do: one load beside a call out of Java, and right even
 * for a provider that changes it. A null pointer, which verbs.h would jump to, is EOPNOTSUPP here. Nothing is
 * allocated.
 *
 * <p><b>Threading:</b> immutable; the functions are thread-safe. <b>Ownership:</b> every address must be alive during
 * the call, and the context open: a pointer read from freed memory crashes the JVM.
 *
 * <p><b>Source:</b> infiniband/verbs.h of rdma-core 44.
 */
@SuppressWarnings("MemberName") // C names verbatim
final class NativeContextOps implements ContextOps {
    private static final Invoker INVOKER = Invoker.getInstance();
    private static final CallContext POINTER = FunctionPointer.returningErrno(Type.POINTER);
    private static final CallContext POINTER_INT = FunctionPointer.returningErrno(Type.POINTER, Type.SINT);
    private static final CallContext POINTER_INT_POINTER =
            FunctionPointer.returningErrno(Type.POINTER, Type.SINT, Type.POINTER);
    private static final CallContext THREE_POINTERS =
            FunctionPointer.returningErrno(Type.POINTER, Type.POINTER, Type.POINTER);
    private static final CallContext ALLOCATION = FunctionPointer.settingErrno(Type.POINTER, Type.SINT);

    private final long context;

    NativeContextOps(long context) {
        if (context == 0) {
            throw new IllegalArgumentException("ibv_context is null");
        }
        this.context = context;
    }

    private long operation(int offset) {
        return RawMemory.getLong(context + offset);
    }

    @Override
    public int ibv_poll_cq(long cq, int entries, long wcArray) {
        long function = operation(VerbsLayout.ibv_context.ops__poll_cq);
        return function == 0
                ? -Errno.EOPNOTSUPP.number()
                : (int) INVOKER.invokeN3(POINTER_INT_POINTER, function, cq, entries, wcArray);
    }

    @Override
    public int ibv_req_notify_cq(long cq, int solicitedOnly) {
        long function = operation(VerbsLayout.ibv_context.ops__req_notify_cq);
        return function == 0
                ? Errno.EOPNOTSUPP.number()
                : (int) INVOKER.invokeN2(POINTER_INT, function, cq, solicitedOnly);
    }

    @Override
    public int ibv_post_send(long qp, long wr, long badWrPointer) {
        return call(VerbsLayout.ibv_context.ops__post_send, qp, wr, badWrPointer);
    }

    @Override
    public int ibv_post_recv(long qp, long wr, long badWrPointer) {
        return call(VerbsLayout.ibv_context.ops__post_recv, qp, wr, badWrPointer);
    }

    @Override
    public int ibv_post_srq_recv(long srq, long wr, long badWrPointer) {
        return call(VerbsLayout.ibv_context.ops__post_srq_recv, srq, wr, badWrPointer);
    }

    @Override
    public long ibv_alloc_mw(long pd, int type) {
        long function = operation(VerbsLayout.ibv_context.ops__alloc_mw);
        if (function == 0) {
            LastError.getInstance().set(Errno.EOPNOTSUPP.number());
            return 0;
        }
        return INVOKER.invokeN2(ALLOCATION, function, pd, type);
    }

    @Override
    public int ibv_dealloc_mw(long mw) {
        long function = operation(VerbsLayout.ibv_context.ops__dealloc_mw);
        return function == 0 ? Errno.EOPNOTSUPP.number() : (int) INVOKER.invokeN1(POINTER, function, mw);
    }

    @Override
    public int ibv_bind_mw(long qp, long mw, long bind) {
        long region = RawMemory.getLong(bind + VerbsLayout.ibv_mw_bind.bind_info__mr);
        if (RawMemory.getInt(mw + VerbsLayout.ibv_mw.type) != VerbsConstants.IBV_MW_TYPE_1) {
            return Errno.EINVAL.number();
        }
        if (region == 0) {
            if (RawMemory.getLong(bind + VerbsLayout.ibv_mw_bind.bind_info__addr) != 0
                    || RawMemory.getLong(bind + VerbsLayout.ibv_mw_bind.bind_info__length) != 0) {
                return Errno.EINVAL.number();
            }
        } else if (RawMemory.getLong(mw + VerbsLayout.ibv_mw.pd) != RawMemory.getLong(region + VerbsLayout.ibv_mr.pd)) {
            return Errno.EPERM.number();
        }
        return call(VerbsLayout.ibv_context.ops__bind_mw, qp, mw, bind);
    }

    @Override
    public int ibv_advise_mr(long pd, int advice, int flags, long sgList, int numSge) {
        return ExtendedVerbs.adviseRegions(context, pd, advice, flags, sgList, numSge);
    }

    private int call(int offset, long first, long second, long third) {
        long function = operation(offset);
        return function == 0
                ? Errno.EOPNOTSUPP.number()
                : (int) INVOKER.invokeN3(THREE_POINTERS, function, first, second, third);
    }
}
