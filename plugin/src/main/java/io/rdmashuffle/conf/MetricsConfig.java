// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.time.Duration;
import java.util.List;

/**
 * The keys under {@code spark.shuffle.rdma.metrics}; their values are read with {@link ShuffleConfig#get}.
 *
 * <p><b>Threading:</b> constants.
 */
public final class MetricsConfig {
    public static final ConfigEntry<Duration> INTERVAL =
            ConfigEntry.duration("metrics.interval", "10s").between("1s", "1h").doc("""
                How often an executor reports its counters to the driver while they change, for the driver's metrics,
                the tab of the user interface and the event log. In large clusters each reports less often, so that the
                driver gets at most 50 reports a second: with 1000 executors every 20s.
                """);
    public static final ConfigEntry<Duration> EVENT_INTERVAL = ConfigEntry.duration("metrics.eventInterval", "1min")
            .between("1s", "1d")
            .doc("""
                How often at most a report of an executor goes to Spark's listeners and the event log while its counters
                change; its last one always does. An event takes about 2 KB. With more than 60 executors each has as
                many seconds as there are executors, so that a log grows by one event a second at most.
                """);

    static final List<ConfigEntry<?>> ENTRIES = List.of(INTERVAL, EVENT_INTERVAL);

    private MetricsConfig() {}
}
