// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Renders {@code docs/configuration.md} from the entries. */
final class ConfigurationDocument {
    private static final String HEAD = """
            # Configuration
            <!-- Generated from io.rdmashuffle.conf.ShuffleConfig. Do not edit; change the entries and run:
                 %s -->

            For users. All keys start with `spark.shuffle.rdma.` and are set like Spark's: `--conf`,
            `spark-defaults.conf`, `SparkConf`. They are read once, at the start of driver and executors.

            - **Sizes** are integers with `k`, `m`, `g`, `t` or `p`, powers of 1024; without a suffix bytes.
            - **Durations** are integers with `us`, `ms`, `s`, `min` (or `m`), `h` or `d`; the unit is required.
            - Ranges include both ends.
            - An invalid value, contradictory values or an unknown key fail the start with one message that
              lists every problem. Defaults are lowered to smaller values of other keys, where noted.

            [`conf/`](../conf) has examples for one machine, Ethernet, RoCE, InfiniBand, EFA, Kubernetes, YARN.
            """;
    private static final Map<String, String> TITLES = Map.ofEntries(
            Map.entry("fabric", "Paths to the pools of peers"),
            Map.entry("pool", "The pool of registered memory"),
            Map.entry("disk", "The disk tier of the pool"),
            Map.entry("directory", "The directory of map outputs"),
            Map.entry("direct", "Direct shuffles"),
            Map.entry("fetch", "Fetching blocks"),
            Map.entry("registry", "The driver's registry of executors"),
            Map.entry("metrics", "Metrics, events and the user interface"),
            Map.entry("peer", "Peers that failed"),
            Map.entry("migration", "Outputs of decommissioned executors"),
            Map.entry("outlive", "Outputs of killed executors"));

    private ConfigurationDocument() {}

    static String render(String command) {
        Map<String, List<ConfigEntry<?>>> areas = ShuffleConfig.entries().stream()
                .collect(Collectors.groupingBy(ConfigurationDocument::area, LinkedHashMap::new, Collectors.toList()));
        StringBuilder text = new StringBuilder(HEAD.formatted(command));
        areas.forEach((area, entries) -> {
            text.append("\n## ").append(title(area)).append("\n\n");
            text.append("| Key | Default | Range | Unit | Meaning | Since |\n|---|---|---|---|---|---|\n");
            entries.forEach(entry -> text.append(row(entry)));
        });
        return text.toString();
    }

    private static String area(ConfigEntry<?> entry) {
        String local = entry.key().substring(ShuffleConfig.PREFIX.length());
        return local.substring(0, local.indexOf('.'));
    }

    private static String title(String area) {
        String title = TITLES.get(area);
        if (title == null) {
            throw new IllegalStateException("give the area " + area + " a title in ConfigurationDocument");
        }
        return title;
    }

    private static <T extends Comparable<T>> String row(ConfigEntry<T> entry) {
        return "| `%s` | `%s` | %s | %s | %s | %s |\n"
                .formatted(
                        entry.key(),
                        entry.format(entry.defaultValue()),
                        entry.range(),
                        entry.unit(),
                        entry.doc(),
                        entry.since());
    }
}
