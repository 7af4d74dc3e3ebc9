// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.spark.util.kvstore.KVIndex;

/**
 * Properties of an application's shuffle that are known before executors report.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param version of the plugin
 * @param whySort why Spark's sort shuffle serves the application; empty if it does not
 * @param settings keys of the plugin whose values differ from their defaults, each as {@code value (default)}
 * @param values what the keys that advice may name are set to, in short
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record ApplicationInfo(
        String version, String whySort, Map<String, String> settings, Map<String, String> values) {
    /** The one of an application. */
    public static final String KEY = "application";

    /** Sets all values; what an older log lacks comes as null. */
    public ApplicationInfo {
        version = Objects.requireNonNullElse(version, "");
        whySort = Objects.requireNonNullElse(whySort, "");
        settings = new TreeMap<>(Objects.requireNonNullElse(settings, Map.of()));
        values = new TreeMap<>(Objects.requireNonNullElse(values, Map.of()));
    }

    /** Returns {@link #KEY}; the store finds it by that. */
    @KVIndex
    public String id() {
        return KEY;
    }

    /** Returns whether it is known what a key is set to: not where the event of the application is missing. */
    public boolean knows(String key) {
        return values.containsKey(key);
    }

    /** Returns the value of a key, shortened. */
    public String value(String key) {
        return values.getOrDefault(key, "?");
    }
}
