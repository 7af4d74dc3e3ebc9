// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.store.ShuffleCounter;
import java.util.Map;

/**
 * What one run of one job took.
 *
 * @param millis wall clock time of the action
 * @param executorCpuMillis user and system time of the executors' processes
 * @param driverCpuMillis the same of the driver
 * @param tasks from task metrics
 * @param garbageBytes that the executors' collectors freed
 * @param checksum over what reduce tasks of RDD jobs got; 0 for others
 * @param counters of our manager after the job and before its shuffle is dropped, by label; empty with another
 */
record Measurement(
        long millis,
        long executorCpuMillis,
        long driverCpuMillis,
        TaskTotals tasks,
        long garbageBytes,
        long checksum,
        Map<String, Long> counters) {
    Measurement {
        counters = Map.copyOf(counters);
    }

    long counter(ShuffleCounter counter) {
        return counters.getOrDefault(counter.label(), 0L);
    }
}
