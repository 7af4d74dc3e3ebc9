// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import io.rdmashuffle.harness.ProcessFootprint;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Growth of executors after a whole step of an application. Starting executors hold almost nothing, and are ignored.
 *
 * <p><b>Threading:</b> one thread.
 */
final class SettledExecutors {
    private final Set<Long> seen = new HashSet<>();
    private final Map<Long, ProcessFootprint> settled = new HashMap<>();

    /** Examines the end of a step. */
    void look(List<ProcessHandle> executors) {
        ProcessFootprint.of(executors).forEach((pid, footprint) -> {
            if (!seen.add(pid)) {
                settled.putIfAbsent(pid, footprint);
            }
        });
    }

    /** Returns the growth of remaining executors by process; empty if none has grown. */
    Map<Long, String> grown(List<ProcessHandle> executors) {
        Map<Long, String> grown = new TreeMap<>();
        ProcessFootprint.of(executors).forEach((pid, now) -> {
            ProcessFootprint before = settled.get(pid);
            if (before != null && now.isGrownFrom(before)) {
                grown.put(pid, now.growthSince(before));
            }
        });
        return grown;
    }
}
