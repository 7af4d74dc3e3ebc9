// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import java.util.Arrays;
import java.util.Locale;

/** Results as text. <b>Threading:</b> stateless. */
final class Figures {
    private static final double MEBIBYTE = 1 << 20;
    private static final double NANOS = 1e9;

    private Figures() {}

    /** Describes times of exchanges there and back; the figures are half of that. */
    static String halfRoundTrips(long[] nanos) {
        long[] sorted = nanos.clone();
        Arrays.sort(sorted);
        return String.format(
                Locale.ROOT,
                "half round trip: median %.1f us, 99 %% %.1f us, least %.1f us, most %.1f us",
                micros(sorted, 0.5),
                micros(sorted, 0.99),
                micros(sorted, 0),
                micros(sorted, 1));
    }

    private static double micros(long[] sorted, double fraction) {
        return sorted[(int) Math.min(sorted.length - 1L, (long) (fraction * sorted.length))] / 2e3;
    }

    /** Describes how fast operations were. */
    static String bandwidth(int bytes, long operations, long nanos) {
        double seconds = nanos / NANOS;
        return String.format(
                Locale.ROOT,
                "%.1f MiB/s, %.0f operations/s (%d operations in %.3f s)",
                bytes * (double) operations / MEBIBYTE / seconds,
                operations / seconds,
                operations,
                seconds);
    }
}
