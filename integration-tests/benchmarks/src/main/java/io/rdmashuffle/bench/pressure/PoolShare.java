// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The size of a pool as a share of the data that one executor writes.
 *
 * @param label as it was written: {@code 2}, {@code 1/10} or {@code 0}
 * @param share of the data, 0 or more
 */
record PoolShare(String label, double share) {
    /** The smallest pool that the plugin takes. */
    static final long SMALLEST_POOL_BYTES = 1 << 20;

    private static final Pattern WRITTEN = Pattern.compile("(\\d{1,4})(?:/(\\d{1,4}))?");

    /**
     * Parses an integer or a fraction.
     *
     * @throws IllegalArgumentException if it is neither
     */
    static PoolShare parse(String written) {
        Matcher parts = WRITTEN.matcher(written.strip());
        if (!parts.matches() || (parts.group(2) != null && Integer.parseInt(parts.group(2)) == 0)) {
            throw new IllegalArgumentException(
                    "--sizes " + written + ": must be integers and fractions, such as 2,1,1/10,0");
        }
        double divisor = parts.group(2) == null ? 1 : Integer.parseInt(parts.group(2));
        return new PoolShare(written.strip(), Integer.parseInt(parts.group(1)) / divisor);
    }

    /** Returns the bytes of a pool for an amount of data, in KiB steps; at least the minimum of a pool. */
    long bytes(long dataBytes) {
        return Math.max(SMALLEST_POOL_BYTES, Math.round(share * dataBytes) >> 10 << 10);
    }
}
