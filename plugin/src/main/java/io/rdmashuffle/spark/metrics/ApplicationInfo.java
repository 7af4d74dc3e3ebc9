// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.util.kvstore.KVIndex;

/**
 * What is known of the shuffle of an application before any executor reports.
 *
 * <p><b>Threading:</b> immutable.
 */
@JsonAutoDetect(
        fieldVisibility = JsonAutoDetect.Visibility.ANY,
        getterVisibility = JsonAutoDetect.Visibility.NONE,
        isGetterVisibility = JsonAutoDetect.Visibility.NONE)
@JsonIgnoreProperties(ignoreUnknown = true)
public final class ApplicationInfo {
    /** The one of an application. */
    public static final String KEY = "application";

    private final String id = KEY;
    private final String version;
    private final String whySort;
    private final Map<String, String> settings;
    private final Map<String, String> values;

    /**
     * Takes all values; what an older log lacks comes as null.
     *
     * @param version of the plugin
     * @param whySort why Spark's sort shuffle serves the application; empty if it does not
     * @param settings keys of the plugin whose values differ from their defaults, each as {@code value (default)}
     * @param values what the keys that advice may name are set to, in short
     */
    @JsonCreator
    @SuppressWarnings("NullAway") // Jackson passes null for what is not there.
    public ApplicationInfo(
            @JsonProperty("version") String version,
            @JsonProperty("whySort") String whySort,
            @JsonProperty("settings") Map<String, String> settings,
            @JsonProperty("values") Map<String, String> values) {
        this.version = version == null ? "" : version;
        this.whySort = whySort == null ? "" : whySort;
        this.settings = settings == null ? Map.of() : new TreeMap<>(settings);
        this.values = values == null ? Map.of() : new TreeMap<>(values);
    }

    /** Returns {@link #KEY}; the store finds it by that. */
    @KVIndex
    public String id() {
        return id;
    }

    /** Returns the version of the plugin. */
    public String version() {
        return version;
    }

    /** Returns why Spark's sort shuffle serves the application; empty if it does not. */
    public String whySort() {
        return whySort;
    }

    /** Returns keys whose values differ from their defaults, each with both. */
    public Map<String, String> settings() {
        return settings;
    }

    /** Returns whether it is known what a key is set to: not where the event of the application is missing. */
    public boolean knows(String key) {
        return values.containsKey(key);
    }

    /** Returns what a key is set to, in short. */
    public String value(String key) {
        return values.getOrDefault(key, "?");
    }
}
