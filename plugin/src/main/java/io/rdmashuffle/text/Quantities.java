// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.text;

import java.time.Duration;
import java.util.Locale;

/**
 * Formatting of durations and sizes with their units.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class Quantities {
    private static final double MEBIBYTE = 1L << 20;
    private static final long MILLIS_PER_SECOND = 1000;

    private Quantities() {}

    /** Returns {@code 30 s}, {@code 1.5 s} or, below a second, {@code 200 ms}. */
    public static String duration(Duration duration) {
        long millis = duration.toMillis();
        if (millis < MILLIS_PER_SECOND) {
            return millis + " ms";
        }
        return millis % MILLIS_PER_SECOND == 0
                ? millis / MILLIS_PER_SECOND + " s"
                : String.format(Locale.ROOT, "%.1f s", millis / (double) MILLIS_PER_SECOND);
    }

    /** Returns {@code 12.5 MiB}. */
    public static String mebibytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f MiB", bytes / MEBIBYTE);
    }
}
