// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.RawMemory;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * What a fake device was asked for, in order.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * @param rights access flags of regions that were registered
 * @param vectors of completion queues
 * @param rnrTimers of queue pairs that became ready to receive
 * @param listenPorts that ids were bound to, 0 for any
 */
public record DeviceNotes(
        List<Integer> rights, List<Integer> vectors, List<Integer> rnrTimers, List<Integer> listenPorts) {
    DeviceNotes() {
        this(
                new CopyOnWriteArrayList<>(),
                new CopyOnWriteArrayList<>(),
                new CopyOnWriteArrayList<>(),
                new CopyOnWriteArrayList<>());
    }

    void bound(long address) {
        listenPorts.add(Short.toUnsignedInt(Short.reverseBytes(RawMemory.getShort(address + 2))));
    }
}
