// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Reader of all entries that collects every problem: invalid values, contradictions, unknown keys.
 *
 * <p><b>Threading:</b> confined to one thread; used once.
 */
final class ConfigReader {
    private final Map<ConfigEntry<?>, Object> values = new HashMap<>();
    private final Set<ConfigEntry<?>> given = new HashSet<>();
    private final List<String> problems = new ArrayList<>();
    private final Set<ConfigEntry<?>> broken = new HashSet<>();

    void read(Collection<ConfigEntry<?>> entries, Function<String, @Nullable String> lookup) {
        for (ConfigEntry<?> entry : entries) {
            String raw = lookup.apply(entry.key());
            if (raw != null) {
                given.add(entry);
            }
            values.put(entry, entry.read(raw, problem -> {
                problems.add(problem);
                broken.add(entry);
            }));
        }
    }

    /**
     * Demands {@code smaller <= larger}. A default that breaks this is lowered to {@code larger}; a value that the user
     * wrote is a problem.
     */
    record Order<T extends Comparable<T>>(ConfigEntry<T> smaller, ConfigEntry<T> larger) {}

    /**
     * Condition of two values.
     *
     * @param holds whether the condition holds
     * @param demand the condition, in words
     */
    record Rule<A extends Comparable<A>, B extends Comparable<B>>(
            ConfigEntry<A> first, ConfigEntry<B> second, BiPredicate<A, B> holds, String demand) {}

    <T extends Comparable<T>> void check(Order<T> order) {
        ConfigEntry<T> smaller = order.smaller();
        ConfigEntry<T> larger = order.larger();
        T low = smaller.in(values);
        T high = larger.in(values);
        if (low.compareTo(high) <= 0 || broken.contains(smaller) || broken.contains(larger)) {
            return;
        }
        if (!given.contains(smaller)) {
            values.put(smaller, high);
            return;
        }
        problems.add(setting(smaller, low) + ": must not be above " + setting(larger, high) + "; allowed: "
                + smaller.range() + " (" + smaller.unit() + ")");
    }

    <A extends Comparable<A>, B extends Comparable<B>> void check(Rule<A, B> rule) {
        A first = rule.first().in(values);
        B second = rule.second().in(values);
        boolean unread = broken.contains(rule.first()) || broken.contains(rule.second());
        if (!unread && !rule.holds().test(first, second)) {
            problems.add(setting(rule.first(), first) + ": does not go with " + setting(rule.second(), second) + "; "
                    + rule.demand());
        }
    }

    private <T extends Comparable<T>> String setting(ConfigEntry<T> entry, T value) {
        return entry.key() + "=" + entry.format(value) + (given.contains(entry) ? "" : ", its default");
    }

    /** Replaces a size that reads as 0, because the user left it to us, by one that follows from another. */
    void derive(ConfigEntry<Long> derived, ConfigEntry<Long> from, LongUnaryOperator rule) {
        if (derived.in(values) == 0) {
            values.put(derived, rule.applyAsLong(from.in(values)));
        }
    }

    /** Reports every key under the prefix that no entry has, with the entry that comes closest. */
    void refuseUnknown(Collection<ConfigEntry<?>> entries, Set<String> presentKeys) {
        Set<String> known = new HashSet<>();
        entries.forEach(entry -> known.add(entry.key()));
        presentKeys.stream()
                .filter(key -> isUnderPrefix(key) && !known.contains(key))
                .sorted()
                .map(key -> key + ": no such key; the nearest is " + nearest(key, known))
                .forEach(problems::add);
    }

    /** Keys are case-sensitive, so a prefix in another case is a mistake too. */
    private static boolean isUnderPrefix(String key) {
        return key.regionMatches(true, 0, ShuffleConfig.PREFIX, 0, ShuffleConfig.PREFIX.length());
    }

    /** Returns the values, or throws with all problems. */
    Map<ConfigEntry<?>, Object> finish() {
        if (!problems.isEmpty()) {
            throw new ConfigException(problems);
        }
        return values;
    }

    private static String nearest(String key, Set<String> known) {
        String lower = key.toLowerCase(Locale.ROOT);
        return known.stream()
                .min(Comparator.<String>comparingInt(other -> editDistance(lower, other.toLowerCase(Locale.ROOT)))
                        .thenComparing(Comparator.naturalOrder()))
                .orElseThrow();
    }

    /** Levenshtein's distance, one row at a time. */
    private static int editDistance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
            }
        }
        return row[b.length()];
    }
}
