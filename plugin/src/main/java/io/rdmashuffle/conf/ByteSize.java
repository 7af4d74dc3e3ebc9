// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Sizes in bytes in Spark's format: an integer and a suffix, powers of 1024; no suffix means bytes.
 *
 * <p><b>Threading:</b> stateless.
 */
final class ByteSize {
    private static final Pattern TEXT = Pattern.compile("([0-9]{1,19})(?:b|([kmgtp])b?)?");
    private static final String SUFFIXES = "kmgtp";

    private ByteSize() {}

    /** Reads {@code 8m}, {@code 8mb} or {@code 8388608}; throws {@link IllegalArgumentException} for anything else. */
    static long parse(String text) {
        Matcher matcher = TEXT.matcher(text.toLowerCase(Locale.ROOT));
        if (!matcher.matches()) {
            throw new IllegalArgumentException("not a size such as 64m or 1g; suffixes k, m, g, t, p");
        }
        String suffix = matcher.group(2);
        int power = suffix == null ? 0 : SUFFIXES.indexOf(suffix.charAt(0)) + 1;
        try {
            return Math.multiplyExact(Long.parseLong(matcher.group(1)), 1L << (10 * power));
        } catch (ArithmeticException | NumberFormatException e) {
            throw new IllegalArgumentException("too large for 63 bits", e);
        }
    }

    /** Writes a size with the largest suffix that loses nothing. */
    static String format(long bytes) {
        long number = bytes;
        int power = 0;
        while (number != 0 && number % 1024 == 0 && power < SUFFIXES.length()) {
            number /= 1024;
            power++;
        }
        return power == 0 ? Long.toString(number) : number + SUFFIXES.substring(power - 1, power);
    }
}
