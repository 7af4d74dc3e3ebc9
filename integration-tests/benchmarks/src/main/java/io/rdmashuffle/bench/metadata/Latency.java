// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import java.util.Arrays;

/** Median and 99th percentile of nanoseconds. */
record Latency(double medianNanos, double p99Nanos) {
    /** Summarizes one value or more. */
    static Latency of(long[] nanos) {
        if (nanos.length == 0) {
            throw new IllegalArgumentException("a median needs at least one value");
        }
        long[] sorted = nanos.clone();
        Arrays.sort(sorted);
        return new Latency(at(sorted, 0.5), at(sorted, 0.99));
    }

    private static double at(long[] sorted, double fraction) {
        return sorted[(int) Math.min(sorted.length - 1L, (long) (fraction * sorted.length))];
    }
}
