// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Map;

/**
 * What was counted until one moment, by one process or by several together.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param counters counters that are missing are zero
 * @param readLatencies how long READs have taken
 */
public record Readings(Map<ShuffleCounter, Long> counters, Latencies readLatencies) {
    /** Nothing. */
    public static final Readings NONE = new Readings(Map.of(), Latencies.NONE);

    public Readings {
        counters = Map.copyOf(counters);
    }

    /** Returns one counter. */
    public long get(ShuffleCounter counter) {
        return counters.getOrDefault(counter, 0L);
    }
}
