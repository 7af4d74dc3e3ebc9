// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Durations in Spark's format: an integer and one of us, ms, s, m, min, h, d.
 *
 * <p>The unit is required. Spark reads a bare number as seconds for some keys and milliseconds for others; here it is
 * refused rather than guessed.
 *
 * <p><b>Threading:</b> stateless.
 */
final class TimeSpan {
    private static final Pattern TEXT = Pattern.compile("([0-9]{1,19})([a-z]+)");
    private static final Map<String, Duration> READ = Map.of(
            "us", Duration.ofNanos(1000),
            "ms", Duration.ofMillis(1),
            "s", Duration.ofSeconds(1),
            "m", Duration.ofMinutes(1),
            "min", Duration.ofMinutes(1),
            "h", Duration.ofHours(1),
            "d", Duration.ofDays(1));
    private static final Map<String, Duration> WRITTEN = largestFirst();

    private TimeSpan() {}

    /** Reads {@code 100ms}, {@code 2min}; throws {@link IllegalArgumentException} for anything else. */
    static Duration parse(String text) {
        Matcher matcher = TEXT.matcher(text.toLowerCase(Locale.ROOT));
        Duration unit = matcher.matches() ? READ.get(matcher.group(2)) : null;
        if (unit == null) {
            throw new IllegalArgumentException("not a duration such as 100ms or 30s; units us, ms, s, min, h, d");
        }
        try {
            Duration value = unit.multipliedBy(Long.parseLong(matcher.group(1)));
            // Every caller ends up with nanoseconds in a long: 292 years.
            long unused = value.toNanos();
            return value;
        } catch (ArithmeticException | NumberFormatException e) {
            throw new IllegalArgumentException("too long for 63 bits of nanoseconds", e);
        }
    }

    /** Writes a duration in the largest unit that loses nothing. */
    static String format(Duration value) {
        if (value.isZero()) {
            return "0ms";
        }
        for (Map.Entry<String, Duration> unit : WRITTEN.entrySet()) {
            long number = value.dividedBy(unit.getValue());
            if (unit.getValue().multipliedBy(number).equals(value)) {
                return number + unit.getKey();
            }
        }
        return value.toString();
    }

    private static Map<String, Duration> largestFirst() {
        Map<String, Duration> units = new LinkedHashMap<>();
        for (String name : new String[] {"d", "h", "min", "s", "ms", "us"}) {
            units.put(name, READ.getOrDefault(name, Duration.ZERO));
        }
        return units;
    }
}
