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
                Interval of an executor's reports to the driver while its counters change, for the driver's metrics,
                the UI tab and the event log; while its pool grows it reports every second. In large clusters each
                executor reports less often, so that the driver gets at most 50 reports per second: with 1000 executors
                every 20s.
                """);
    public static final ConfigEntry<Duration> EVENT_INTERVAL = ConfigEntry.duration("metrics.eventInterval", "1min")
            .between("1s", "1d")
            .doc("""
                Minimum interval between events of an executor for Spark's listeners and the event log; its last report
                is always an event. An event takes about 2 KB. With more than 60 executors the interval is one second
                per executor, so that a log grows by at most one event per second.
                """);

    static final List<ConfigEntry<?>> ENTRIES = List.of(INTERVAL, EVENT_INTERVAL);

    private MetricsConfig() {}
}
