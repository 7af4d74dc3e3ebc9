// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.ContextOps;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr_ex;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.VerbsConstants;

/**
 * Limits and capabilities of a device.
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
 * @param memoryWindows whether the kernel says that memory windows can be allocated; the device's part of an older
 *     rdma-core may not know them: EOPNOTSUPP
 * @param onDemandPaging whether READs on reliable connections may use unpinned memory
 * @param ports number of ports
 * @param maxPiecesOfRead pieces of local memory in one READ; iWARP devices often have 1 where others have
 *     {@code maxPieces}
 * @param maxProtectionDomains protection domains at once
 * @param maxRegions memory regions at once
 * @param maxMemoryWindows memory windows at once, 0 if there are none
 * @param maxCompletionQueues completion queues at once
 * @param maxSharedQueues shared receive queues at once, 0 if there are none
 * @param maxSharedPieces pieces of local memory in one receive of a shared queue
 * @param maxReadsOfAllPairs READs and atomics that the device serves for peers at once, all queue pairs together
 * @param maxAddressHandles address handles at once; some devices say 0 where nothing but memory bounds them
 * @param maxPartitionKeys rows of a port's table of partition keys
 * @param ackDelay how long the device may take to acknowledge a packet, as an exponent: 4.096 us x 2^ackDelay. The
 *     acknowledgement timeout of a peer must be longer
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
        int ports,
        int maxPiecesOfRead,
        int maxProtectionDomains,
        int maxRegions,
        int maxMemoryWindows,
        int maxCompletionQueues,
        int maxSharedQueues,
        int maxSharedPieces,
        int maxReadsOfAllPairs,
        int maxAddressHandles,
        int maxPartitionKeys,
        int ackDelay) {

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
                    Byte.toUnsignedInt(plain.getByte(ibv_device_attr.phys_port_cnt)),
                    plain.getInt(ibv_device_attr.max_sge_rd),
                    plain.getInt(ibv_device_attr.max_pd),
                    plain.getInt(ibv_device_attr.max_mr),
                    plain.getInt(ibv_device_attr.max_mw),
                    plain.getInt(ibv_device_attr.max_cq),
                    plain.getInt(ibv_device_attr.max_srq),
                    plain.getInt(ibv_device_attr.max_srq_sge),
                    plain.getInt(ibv_device_attr.max_res_rd_atom),
                    plain.getInt(ibv_device_attr.max_ah),
                    Short.toUnsignedInt(plain.getShort(ibv_device_attr.max_pkeys)),
                    Byte.toUnsignedInt(plain.getByte(ibv_device_attr.local_ca_ack_delay)));
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
