// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import java.util.Arrays;
import java.util.Collection;
import java.util.Locale;

/**
 * The median of repeated measurements, with the least and the greatest of them.
 *
 * <p><b>Threading:</b> immutable.
 */
public record Spread(double median, double min, double max) {
    /** Summarizes one value or more; of an even number of values the median is the mean of the two in the middle. */
    public static Spread of(Collection<? extends Number> values) {
        double[] sorted = values.stream().mapToDouble(Number::doubleValue).toArray();
        if (sorted.length == 0) {
            throw new IllegalArgumentException("a median needs at least one value");
        }
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        double median = sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
        return new Spread(median, sorted[0], sorted[sorted.length - 1]);
    }

    /** Returns the same in another unit. */
    public Spread dividedBy(double divisor) {
        return new Spread(median / divisor, min / divisor, max / divisor);
    }

    /** Writes median and spread: {@code 1.25 (1.10-1.31)}. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%.2f (%.2f-%.2f)", median, min, max);
    }
}
