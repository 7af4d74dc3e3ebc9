// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Map;

/**
 * Counter readings at one moment, of one process or of several together.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param counters by counter
 * @param readLatencies how long READs have taken
 */
public record Readings(CounterValues counters, Latencies readLatencies) {
    /** Nothing. */
    public static final Readings NONE = new Readings(CounterValues.ZERO, Latencies.NONE);

    /** Returns readings of counters; missing ones are zero. */
    public static Readings of(Map<ShuffleCounter, Long> counters, Latencies readLatencies) {
        return new Readings(CounterValues.of(counters), readLatencies);
    }

    /** Returns one counter. */
    public long get(ShuffleCounter counter) {
        return counters.get(counter);
    }
}
