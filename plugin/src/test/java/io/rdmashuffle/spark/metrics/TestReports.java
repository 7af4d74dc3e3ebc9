// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import io.rdmashuffle.registry.PathGroup;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reports as executors make them. */
public final class TestReports {
    private TestReports() {}

    /** Returns a report of an executor with these counters. */
    public static Report report(String executorId, boolean last, Map<ShuffleCounter, Long> counters) {
        Map<String, Long> named = new HashMap<>();
        counters.forEach((counter, value) -> named.put(counter.name(), value));
        return new Report(
                executorId,
                "host-" + executorId,
                last ? Occasion.STOPPED : Occasion.USUAL,
                named,
                List.of(0L, 1L, 0L, 5L),
                List.of(new PathGroup("shm", 2, List.of("8", "9"))),
                List.of("9"),
                "no <device> & no hope");
    }

    /** Returns the same as the driver keeps it. */
    public static ExecutorReport kept(String executorId, boolean last, Map<ShuffleCounter, Long> counters) {
        return ExecutorReport.of(report(executorId, last, counters), 1_000);
    }
}
