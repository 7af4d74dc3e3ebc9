// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.CallContext;
import com.kenai.jffi.Invoker;
import com.kenai.jffi.Type;

/**
 * Calls the extended functions: those in the {@code verbs_context} that a current library puts in front of a context.
 *
 * <pre>
 * struct verbs_context:  newest function ... oldest function | sz | ibv_context ... abi_compat
 *                        ^ grows this way                         ^ what ibv_open_device returns
 * </pre>
 *
 * <p>{@code abi_compat} is all ones when the front part exists; {@code sz} is its length.
 *
 * <p><b>Threading:</b> thread-safe. <b>Ownership:</b> context and buffers must be alive during the call.
 *
 * <p><b>Source:</b> verbs_get_ctx_op in infiniband/verbs.h of rdma-core 44.
 */
final class ExtendedVerbs {
    /** {@code __VERBS_ABI_IS_EXTENDED}. */
    static final long VERBS_ABI_IS_EXTENDED = -1;

    private static final Invoker INVOKER = Invoker.getInstance();
    private static final CallContext QUERY_DEVICE =
            FunctionPointer.returningErrno(Type.POINTER, Type.POINTER, Type.POINTER, Type.ULONG);
    private static final CallContext QUERY_PORT =
            FunctionPointer.returningErrno(Type.POINTER, Type.UINT8, Type.POINTER, Type.ULONG);
    private static final CallContext ADVISE_REGIONS =
            FunctionPointer.returningErrno(Type.POINTER, Type.SINT, Type.UINT32, Type.POINTER, Type.UINT32);

    private ExtendedVerbs() {}

    static int queryDevice(long context, long input, long attr) {
        if (input != 0 && RawMemory.getInt(input + VerbsLayout.ibv_query_device_ex_input.comp_mask) != 0) {
            return Errno.EINVAL.number();
        }
        long function = function(context, VerbsLayout.verbs_context.query_device_ex);
        return function == 0
                ? Errno.EOPNOTSUPP.number()
                : (int) INVOKER.invokeN4(
                        QUERY_DEVICE, function, context, input, attr, VerbsLayout.ibv_device_attr_ex.SIZEOF);
    }

    static int queryPort(long context, int port, long attr) {
        long function = function(context, VerbsLayout.verbs_context.query_port);
        return function == 0
                ? Errno.EOPNOTSUPP.number()
                : (int) INVOKER.invokeN4(QUERY_PORT, function, context, port, attr, VerbsLayout.ibv_port_attr.SIZEOF);
    }

    static int adviseRegions(long context, long pd, int advice, int flags, long sgList, int numSge) {
        long function = function(context, VerbsLayout.verbs_context.advise_mr);
        return function == 0
                ? Errno.EOPNOTSUPP.number()
                : (int) INVOKER.invokeN5(ADVISE_REGIONS, function, pd, advice, flags, sgList, numSge);
    }

    /** Returns the function pointer at an offset of {@code verbs_context}, or 0. */
    private static long function(long context, int offset) {
        if (RawMemory.getLong(context + VerbsLayout.ibv_context.abi_compat) != VERBS_ABI_IS_EXTENDED) {
            return 0;
        }
        long extended = context - VerbsLayout.verbs_context.context;
        long reach = RawMemory.getLong(extended + VerbsLayout.verbs_context.sz);
        return Long.compareUnsigned(reach, VerbsLayout.verbs_context.SIZEOF - offset) < 0
                ? 0
                : RawMemory.getLong(extended + offset);
    }
}
