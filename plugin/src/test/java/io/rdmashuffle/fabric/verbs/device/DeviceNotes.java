// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

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
 */
public record DeviceNotes(List<Integer> rights, List<Integer> vectors, List<Integer> rnrTimers) {
    DeviceNotes() {
        this(new CopyOnWriteArrayList<>(), new CopyOnWriteArrayList<>(), new CopyOnWriteArrayList<>());
    }
}
