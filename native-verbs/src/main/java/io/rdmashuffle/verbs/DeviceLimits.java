// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.ContextOps;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr_ex;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.VerbsConstants;

/**
 * What a device can hold and do.
 *
 * <p><b>Source:</b> ibv_query_device(3), ibv_query_device_ex(3).
 *
 * @param maxRegionBytes longest memory region
 * @param maxQueuePairs queue pairs at once
 * @param maxWorkRequests requests outstanding in one queue
 * @param maxPieces pieces of local memory in one request
 * @param maxCompletions entries of one completion queue
 * @param maxSharedReceives entries of one shared receive queue, 0 if there are none
 * @param maxReadsAsInitiator READs and atomics outstanding on one queue pair, asked for by this side
 * @param maxReadsAsTarget READs and atomics outstanding on one queue pair, asked for by the peer
 * @param atomics whether compare-and-swap and fetch-and-add work
 * @param memoryWindows whether memory windows can be allocated
 * @param onDemandPaging whether READs on reliable connections may use unpinned memory
 * @param ports number of ports
 */
public record DeviceLimits(
        long maxRegionBytes,
        int maxQueuePairs,
        int maxWorkRequests,
        int maxPieces,
        int maxCompletions,
        int maxSharedReceives,
        int maxReadsAsInitiator,
        int maxReadsAsTarget,
        boolean atomics,
        boolean memoryWindows,
        boolean onDemandPaging,
        int ports) {

    static DeviceLimits query(VerbsLibrary library, long context, String deviceName) {
        try (NativeBuffer plain = new NativeBuffer(ibv_device_attr.SIZEOF)) {
            NativeResult.checkReturned(
                    library.verbs().ibv_query_device(context, plain.address()),
                    () -> "ibv_query_device(" + deviceName + ")");
            return new DeviceLimits(
                    plain.getLong(ibv_device_attr.max_mr_size),
                    plain.getInt(ibv_device_attr.max_qp),
                    plain.getInt(ibv_device_attr.max_qp_wr),
                    plain.getInt(ibv_device_attr.max_sge),
                    plain.getInt(ibv_device_attr.max_cqe),
                    plain.getInt(ibv_device_attr.max_srq_wr),
                    plain.getInt(ibv_device_attr.max_qp_init_rd_atom),
                    plain.getInt(ibv_device_attr.max_qp_rd_atom),
                    plain.getInt(ibv_device_attr.atomic_cap) != VerbsConstants.IBV_ATOMIC_NONE,
                    plain.getInt(ibv_device_attr.max_mw) > 0,
                    onDemandPaging(context),
                    Byte.toUnsignedInt(plain.getByte(ibv_device_attr.phys_port_cnt)));
        }
    }

    private static boolean onDemandPaging(long context) {
        try (NativeBuffer extended = new NativeBuffer(ibv_device_attr_ex.SIZEOF)) {
            if (ContextOps.ibv_query_device_ex(context, 0, extended.address()) != 0) {
                return false;
            }
            long general = extended.getLong(ibv_device_attr_ex.odp_caps__general_caps);
            int reliable = extended.getInt(ibv_device_attr_ex.odp_caps__per_transport_caps__rc_odp_caps);
            return (general & VerbsConstants.IBV_ODP_SUPPORT) != 0
                    && (reliable & VerbsConstants.IBV_ODP_SUPPORT_READ) != 0;
        }
    }
}
