// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * The sums behind {@link ShuffleCounter}, for one executor.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class ShuffleCounters {
    private final Map<ShuffleCounter, LongAdder> sums = new EnumMap<>(ShuffleCounter.class);

    /** Starts with everything at zero. */
    public ShuffleCounters() {
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            sums.put(counter, new LongAdder());
        }
    }

    /** Adds to a counter. */
    public void add(ShuffleCounter counter, long amount) {
        LongAdder sum = sums.get(counter);
        if (sum != null) {
            sum.add(amount);
        }
    }

    /** Returns the current values; counters that are measured elsewhere are zero. */
    public Map<ShuffleCounter, Long> snapshot() {
        Map<ShuffleCounter, Long> values = new EnumMap<>(ShuffleCounter.class);
        sums.forEach((counter, sum) -> values.put(counter, sum.sum()));
        return values;
    }
}
