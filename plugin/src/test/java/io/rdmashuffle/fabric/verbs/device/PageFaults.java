// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.DeviceLayout.ibv_context;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr_ex;
import io.rdmashuffle.ffi.DeviceLayout.verbs_context;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import jnr.ffi.Pointer;
import jnr.ffi.Runtime;
import jnr.ffi.annotations.Delegate;
import jnr.ffi.types.size_t;

/**
 * What a fake device answers that takes page faults of READs on reliable connections.
 *
 * <p>libibverbs has no symbol for the question: the function stands in front of the device's context.
 *
 * <p><b>Threading:</b> stateless. <b>Ownership:</b> lives as long as the device, which calls it.
 *
 * <p><b>Source:</b> ibv_query_device_ex(3).
 */
final class PageFaults {
    private final QueryDevice answer = (context, input, attributes, size) -> {
        attributes.putLong(ibv_device_attr_ex.odp_caps__general_caps, VerbsConstants.IBV_ODP_SUPPORT);
        attributes.putInt(
                ibv_device_attr_ex.odp_caps__per_transport_caps__rc_odp_caps, VerbsConstants.IBV_ODP_SUPPORT_READ);
        return 0;
    };

    /** The function in C. */
    public interface QueryDevice {
        @Delegate
        int call(Pointer context, Pointer input, Pointer attributes, @size_t long size);
    }

    /** Puts the function in front of a context, where there must be room for it. */
    void enable(long context) {
        long front = context - verbs_context.context;
        Pointer function = Runtime.getSystemRuntime().getClosureManager().getClosurePointer(QueryDevice.class, answer);
        RawMemory.putLong(front + verbs_context.query_device_ex, function.address());
        RawMemory.putLong(front + verbs_context.sz, verbs_context.SIZEOF);
        RawMemory.putLong(context + ibv_context.abi_compat, -1);
    }
}
