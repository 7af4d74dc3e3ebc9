// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One key of the configuration with everything a user or the documentation asks about it.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class ConfigEntry<T extends Comparable<T>> {
    private static final int LONGEST_SHOWN = 200;

    private final String key;
    private final ValueType<T> type;
    private final T defaultValue;
    private final @Nullable T min;
    private final @Nullable T max;
    private final String doc;
    private final String since;

    private ConfigEntry(Builder<T> builder, String doc) {
        this.key = builder.key;
        this.type = builder.type;
        this.min = builder.min;
        this.max = builder.max;
        this.defaultValue = Objects.requireNonNull(builder.defaultValue, builder.key);
        this.doc = doc.strip().replaceAll("\\s+", " ");
        this.since = builder.since;
        if (!inRange(defaultValue)) {
            throw new IllegalStateException(problem(format(defaultValue), ""));
        }
    }

    /** Returns the full name, prefix included. */
    public String key() {
        return key;
    }

    /** Returns the type of values. */
    public ValueType<T> type() {
        return type;
    }

    /** Returns the value that holds when the key is absent. */
    public T defaultValue() {
        return defaultValue;
    }

    /** Returns the unit: {@code bytes}, {@code duration}, {@code threads}... */
    public String unit() {
        return type.unit();
    }

    /** Returns the description, in Markdown. */
    public String doc() {
        return doc;
    }

    /** Returns the first version that knows the key. */
    public String since() {
        return since;
    }

    /** Returns the smallest allowed value, null where there is no order. */
    public @Nullable T min() {
        return min;
    }

    /** Returns the largest allowed value, null where there is no order. */
    public @Nullable T max() {
        return max;
    }

    /** Returns the allowed values in words: {@code between 1m and 1p}, {@code one of off, advise}. */
    public String range() {
        if (min != null && max != null) {
            return "between " + format(min) + " and " + format(max);
        }
        return type.choices().isEmpty() ? type.form() : "one of " + String.join(", ", type.choices());
    }

    /** Writes a value as a user would. */
    public String format(T value) {
        return type.formatter().apply(value);
    }

    /** Returns the value of {@code raw}, or the default after telling {@code problems} why {@code raw} cannot be. */
    T read(@Nullable String raw, Consumer<String> problems) {
        if (raw == null) {
            return defaultValue;
        }
        try {
            T value = type.parser().apply(raw.strip());
            if (inRange(value)) {
                return value;
            }
            problems.accept(problem(raw, ""));
        } catch (IllegalArgumentException e) {
            problems.accept(problem(raw, shown(String.valueOf(e.getMessage())) + "; "));
        }
        return defaultValue;
    }

    private boolean inRange(T value) {
        return (min == null || value.compareTo(min) >= 0) && (max == null || value.compareTo(max) <= 0);
    }

    private String problem(String raw, String reason) {
        return key + "=" + shown(raw) + ": " + reason + "must be " + range() + " (" + unit() + ")";
    }

    /** Returns a value or message shortened to one line. */
    private static String shown(String raw) {
        String line = raw.length() <= LONGEST_SHOWN ? raw : raw.substring(0, LONGEST_SHOWN) + "...";
        return line.replaceAll("\\p{Cntrl}", "?");
    }

    /** Returns this entry's value among those of all entries. */
    T in(Map<ConfigEntry<?>, Object> values) {
        return type.javaType().cast(Objects.requireNonNull(values.get(this), key));
    }

    @Override
    public String toString() {
        return key;
    }

    static Builder<Long> bytes(String key, String defaultValue) {
        return new Builder<>(key, ValueType.BYTES, defaultValue);
    }

    static Builder<Long> bytesOr(String key, String word, long leastBytes) {
        return new Builder<>(key, ValueType.bytesOr(word, leastBytes), word);
    }

    static Builder<Duration> duration(String key, String defaultValue) {
        return new Builder<>(key, ValueType.DURATION, defaultValue);
    }

    static Builder<Integer> count(String key, String unit, String defaultValue) {
        return new Builder<>(key, ValueType.count(unit), defaultValue);
    }

    static Builder<Boolean> flag(String key, String defaultValue) {
        return new Builder<>(key, ValueType.BOOLEAN, defaultValue);
    }

    static Builder<String> path(String key, String defaultValue) {
        return new Builder<>(key, ValueType.PATH, defaultValue);
    }

    static Builder<String> ports(String key, String defaultValue) {
        return new Builder<>(key, ValueType.PORTS, defaultValue);
    }

    static Builder<String> names(String key, String defaultValue) {
        return new Builder<>(key, ValueType.NAMES, defaultValue);
    }

    static Builder<Integer> numberOr(String key, String unit, String word, Integer... numbers) {
        return new Builder<>(key, ValueType.numberOr(unit, word, numbers), word);
    }

    static Builder<Integer> countOr(String key, String unit, String word) {
        return new Builder<>(key, ValueType.countOr(unit, word), word);
    }

    static <E extends Enum<E>> Builder<E> choice(String key, Class<E> type, String defaultValue) {
        return new Builder<>(key, ValueType.oneOf(type), defaultValue);
    }

    /** Builder of an entry, which {@link #doc} completes. All values are given as a user would write them. */
    static final class Builder<T extends Comparable<T>> {
        private final String key;
        private final ValueType<T> type;
        private final T defaultValue;
        private @Nullable T min;
        private @Nullable T max;
        private String since = "0.1.0";

        private Builder(String key, ValueType<T> type, String defaultValue) {
            this.key = ShuffleConfig.PREFIX + key;
            this.type = type;
            this.defaultValue = type.parser().apply(defaultValue);
        }

        /** Both ends are allowed. */
        Builder<T> between(String smallest, String largest) {
            min = type.parser().apply(smallest);
            max = type.parser().apply(largest);
            return this;
        }

        Builder<T> since(String version) {
            since = version;
            return this;
        }

        ConfigEntry<T> doc(String text) {
            return new ConfigEntry<>(this, text);
        }
    }
}
