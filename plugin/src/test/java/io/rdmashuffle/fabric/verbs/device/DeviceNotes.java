// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.QueueLayout.ibv_qp_attr;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * What a fake device was asked for, in order.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * @param rights access flags of regions that were registered
 * @param vectors of completion queues
 * @param pairRights access flags of queue pairs that were initialized: what their peers may do
 * @param rnrTimers of queue pairs that became ready to receive
 * @param receivesAtAccept how many receives a queue pair had when its connection was accepted
 * @param listenPorts that ids were bound to, 0 for any
 */
public record DeviceNotes(
        List<Integer> rights,
        List<Integer> vectors,
        List<Integer> pairRights,
        List<Integer> rnrTimers,
        List<Integer> receivesAtAccept,
        List<Integer> listenPorts) {
    DeviceNotes() {
        this(
                new CopyOnWriteArrayList<>(),
                new CopyOnWriteArrayList<>(),
                new CopyOnWriteArrayList<>(),
                new CopyOnWriteArrayList<>(),
                new CopyOnWriteArrayList<>(),
                new CopyOnWriteArrayList<>());
    }

    /** Records the attributes of a new queue pair. */
    void modified(long attributes) {
        int state = RawMemory.getInt(attributes + ibv_qp_attr.qp_state);
        if (state == VerbsConstants.IBV_QPS_INIT) {
            pairRights.add(RawMemory.getInt(attributes + ibv_qp_attr.qp_access_flags));
        } else if (state == VerbsConstants.IBV_QPS_RTR) {
            rnrTimers.add((int) RawMemory.getByte(attributes + ibv_qp_attr.min_rnr_timer));
        }
    }

    void bound(long address) {
        listenPorts.add(Short.toUnsignedInt(Short.reverseBytes(RawMemory.getShort(address + 2))));
    }
}
