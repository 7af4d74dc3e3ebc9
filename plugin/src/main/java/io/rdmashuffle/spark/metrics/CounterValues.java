// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Compact values of all {@link ShuffleCounter}s, which the driver keeps for every executor. The JSON form is an object
 * of nonzero values by label; unknown labels are ignored.
 *
 * <p><b>Threading:</b> immutable.
 */
@SuppressWarnings("EnumOrdinal") // Places in an array that no other process sees.
public final class CounterValues {
    /** All zero. */
    public static final CounterValues ZERO = new CounterValues(new long[0]);

    private static final ShuffleCounter[] COUNTERS = ShuffleCounter.values();

    private final long[] values;

    private CounterValues(long[] values) {
        this.values = values;
    }

    private static CounterValues of(ToLongFunction<ShuffleCounter> value) {
        return new CounterValues(Arrays.stream(COUNTERS).mapToLong(value).toArray());
    }

    /** Returns values by counter; missing ones are zero. */
    public static CounterValues of(Map<ShuffleCounter, Long> byCounter) {
        return of(counter -> byCounter.getOrDefault(counter, 0L));
    }

    /** Returns values by the names of counters, as they are reported. */
    public static CounterValues ofNames(Map<String, Long> byName) {
        return of(counter -> byName.getOrDefault(counter.name(), 0L));
    }

    /** Returns values by label. */
    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public static CounterValues ofLabels(Map<String, Number> byLabel) {
        return of(counter -> {
            Number value = byLabel.get(counter.label());
            return value == null ? 0 : value.longValue();
        });
    }

    /** Returns nonzero values by label. */
    @JsonValue
    public Map<String, Long> byLabel() {
        Map<String, Long> byLabel = new LinkedHashMap<>();
        for (ShuffleCounter counter : COUNTERS) {
            if (get(counter) != 0) {
                byLabel.put(counter.label(), get(counter));
            }
        }
        return byLabel;
    }

    /** Returns all values by counter. */
    public Map<ShuffleCounter, Long> byCounter() {
        Map<ShuffleCounter, Long> byCounter = new EnumMap<>(ShuffleCounter.class);
        for (ShuffleCounter counter : COUNTERS) {
            byCounter.put(counter, get(counter));
        }
        return byCounter;
    }

    /** Returns one value. */
    public long get(ShuffleCounter counter) {
        return counter.ordinal() < values.length ? values[counter.ordinal()] : 0;
    }

    /** Returns the sums, with those counters of the other that match. */
    public CounterValues plus(CounterValues more, Predicate<ShuffleCounter> which) {
        return of(counter -> get(counter) + (which.test(counter) ? more.get(counter) : 0));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof CounterValues that
                && Arrays.stream(COUNTERS).allMatch(counter -> get(counter) == that.get(counter));
    }

    @Override
    public int hashCode() {
        return byLabel().hashCode();
    }

    @Override
    public String toString() {
        return byLabel().toString();
    }
}
