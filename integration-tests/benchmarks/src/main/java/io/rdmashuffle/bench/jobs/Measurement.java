// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import io.rdmashuffle.store.ShuffleCounter;
import java.util.Map;

/**
 * Cost of one run of a job.
 *
 * @param millis wall clock time of the action
 * @param executorCpuMillis user and system time of the executors' processes
 * @param linkCpuMillis CPU time of a modelled link, which a device would do without a CPU
 * @param driverCpuMillis the same of the driver
 * @param tasks from task metrics
 * @param memoryBytes that the executors' processes hold after the job, before its shuffle is dropped
 * @param garbageBytes that the executors' collectors freed
 * @param checksum over what reduce tasks of RDD jobs got; 0 for others
 * @param counters of our manager after the job and before its shuffle is dropped, by label; empty with another
 * @param gained what the job added to them
 */
public record Measurement(
        long millis,
        long executorCpuMillis,
        long linkCpuMillis,
        long driverCpuMillis,
        TaskTotals tasks,
        long memoryBytes,
        long garbageBytes,
        long checksum,
        Map<String, Long> counters,
        Map<String, Long> gained) {
    public Measurement {
        counters = Map.copyOf(counters);
        gained = Map.copyOf(gained);
    }

    /** Returns the CPU time of executors without that of a modelled link. */
    public long processorMillis() {
        return executorCpuMillis - linkCpuMillis;
    }

    /** Returns a counter as it was after the job. */
    public long counter(ShuffleCounter counter) {
        return counters.getOrDefault(counter.label(), 0L);
    }

    /** Returns what the job added to a counter. */
    public long gained(ShuffleCounter counter) {
        return gained.getOrDefault(counter.label(), 0L);
    }
}
