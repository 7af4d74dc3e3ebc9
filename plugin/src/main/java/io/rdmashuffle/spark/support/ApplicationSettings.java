// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.support;

import io.rdmashuffle.conf.ConfigEntry;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.spark.metrics.ApplicationInfo;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The settings of an application as its user interface shows them.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class ApplicationSettings {
    /** Keys that advice names with their values. */
    private static final List<ConfigEntry<?>> NAMED = List.of(
            ShuffleConfig.POOL_MAX_SIZE,
            ShuffleConfig.FABRIC_MODE,
            ShuffleConfig.DISK_ENABLED,
            ShuffleConfig.DISK_MIN_FREE,
            ShuffleConfig.PEER_QUARANTINE);

    private ApplicationSettings() {}

    /**
     * Returns the properties of an application before its executors report.
     *
     * @param whySort reason why Spark's sort shuffle serves it; null if it does not
     */
    public static ApplicationInfo of(ShuffleConfig config, @Nullable String whySort) {
        Map<String, String> changed = new TreeMap<>();
        ShuffleConfig.entries().forEach(entry -> addIfChanged(changed, config, entry));
        Map<String, String> values = new TreeMap<>();
        NAMED.forEach(entry -> values.put(entry.key(), value(config, entry)));
        return new ApplicationInfo(pluginVersion(), whySort == null ? "" : whySort, changed, values);
    }

    /** Returns the version in the jar's manifest; "unknown" where classes do not come from a jar. */
    public static String pluginVersion() {
        String version = ApplicationSettings.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }

    private static <T extends Comparable<T>> void addIfChanged(
            Map<String, String> changed, ShuffleConfig config, ConfigEntry<T> entry) {
        if (!config.get(entry).equals(entry.defaultValue())) {
            changed.put(entry.key(), value(config, entry) + " (default " + entry.format(entry.defaultValue()) + ")");
        }
    }

    private static <T extends Comparable<T>> String value(ShuffleConfig config, ConfigEntry<T> entry) {
        return entry.format(config.get(entry));
    }
}
