// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.link;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A link by which an executor receives.
 *
 * @param gigabits per second, 10^9
 * @param delayMicros from posting a READ to its first byte, when nothing else is on the link
 */
public record LinkModel(double gigabits, double delayMicros) {
    /** Spark's key that turns the model on. */
    public static final String GIGABITS = "spark.rdmashuffle.bench.link.gigabits";

    /** Name of the threads that stand in for devices; short enough for the kernel, so that their time can be found. */
    public static final String THREAD = "modelled-link";

    static final String DELAY_MICROS = "spark.rdmashuffle.bench.link.delayMicros";
    private static final double BITS_OF_BYTE = 8;

    public LinkModel {
        if (!(gigabits > 0) || !(delayMicros >= 0)) {
            throw new IllegalArgumentException(
                    "a link of " + gigabits + " Gb/s and " + delayMicros + " us: the first must be positive");
        }
    }

    /** Reads what {@link #settings} wrote; empty if no link is wanted. */
    static Optional<LinkModel> read(Function<String, @Nullable String> settings) {
        String gigabits = settings.apply(GIGABITS);
        String delay = settings.apply(DELAY_MICROS);
        return gigabits == null
                ? Optional.empty()
                : Optional.of(
                        new LinkModel(Double.parseDouble(gigabits), delay == null ? 0 : Double.parseDouble(delay)));
    }

    /** Returns Spark's configuration of an application whose executors receive by this link. */
    public Map<String, String> settings() {
        return Map.of(GIGABITS, Double.toString(gigabits), DELAY_MICROS, Double.toString(delayMicros));
    }

    long delayNanos() {
        return Math.round(delayMicros * TimeUnit.MICROSECONDS.toNanos(1));
    }

    /** Returns the time that {@code bytes} occupy the link. */
    long transferNanos(long bytes) {
        return Math.round(bytes * BITS_OF_BYTE / gigabits);
    }

    @Override
    public String toString() {
        return gigabits + " Gb/s, " + Duration.ofNanos(delayNanos()).toNanos() / 1_000.0 + " us";
    }
}
