// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.cli;

import java.util.Locale;

/** Writes numbers of bytes for people. */
public final class ReadableBytes {
    private static final String[] UNITS = {"B", "KB", "MB", "GB", "TB"};

    private ReadableBytes() {}

    /** Writes three digits and a unit of powers of 1000; zero stays a bare 0, so that it stands out. */
    public static String format(long bytes) {
        if (bytes == 0) {
            return "0";
        }
        double value = bytes;
        int unit = 0;
        while (Math.abs(value) >= 1000 && unit < UNITS.length - 1) {
            value /= 1000;
            unit++;
        }
        String format = unit == 0 || Math.abs(value) >= 100 ? "%.0f %s" : "%.1f %s";
        return String.format(Locale.ROOT, format, value, UNITS[unit]);
    }
}
