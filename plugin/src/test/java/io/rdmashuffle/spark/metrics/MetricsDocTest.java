// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ProjectFiles;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("unit")
class MetricsDocTest {
    private static final String BEGIN =
            "<!-- generated from io.rdmashuffle.store.ShuffleCounter; write anew with:" + " make docs -->\n";
    private static final String END = "<!-- end of generated table -->";

    @Test
    void pageListsEachMetric() throws IOException {
        Path page = ProjectFiles.path("docs/metrics.md");
        String text = Files.readString(page);
        int from = text.indexOf(BEGIN) + BEGIN.length();
        int to = text.indexOf(END);
        assertThat(from).as("docs/metrics.md has the line: %s", BEGIN).isLessThanOrEqualTo(to);
        String rendered = text.substring(0, from) + table() + text.substring(to);
        if (Boolean.getBoolean("regenerate.docs")) {
            Files.writeString(page, rendered);
        }
        assertThat(page)
                .as("docs/metrics.md is out of date; write its table anew with: make docs")
                .content()
                .isEqualTo(rendered);
    }

    /** A panel or an alert of a metric that is not there says that all is well. */
    @ParameterizedTest
    @ValueSource(strings = {"conf/grafana-dashboard.json", "conf/prometheus-rules.yml"})
    void dashboardAndAlertsNameMetricsThatExist(String file) throws IOException {
        Set<String> exist = new HashSet<>(
                Set.of(ShuffleSource.READ_LATENCY + "_50thPercentile", ShuffleSource.READ_LATENCY + "_99thPercentile"));
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            exist.add(counter.metric() + "_Value");
        }
        assertThat(metricsNamedIn(file)).hasSizeGreaterThan(5).isSubsetOf(exist);
    }

    /** A ratio of which one metric is missing has no value. */
    @Test
    void testOfAlertsHasAValueOfEachMetric() throws IOException {
        assertThat(metricsNamedIn("integration-tests/cluster/src/test/prometheus/rules-test.yml"))
                .containsAll(metricsNamedIn("conf/prometheus-rules.yml"));
    }

    private static Set<String> metricsNamedIn(String file) throws IOException {
        return Pattern.compile("metrics_spark_driver_rdmaShuffle_(\\w+)")
                .matcher(Files.readString(ProjectFiles.path(file)))
                .results()
                .map(metric -> metric.group(1))
                .collect(Collectors.toSet());
    }

    private static String table() {
        StringBuilder text = new StringBuilder("| Metric | Unit | Kind | Meaning |\n|---|---|---|---|\n");
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            text.append("| `%s` | %s | %s | %s |\n"
                    .formatted(counter.metric(), counter.unit(), counter.kind().word(), counter.meaning()));
        }
        return text.append("| `%s` | us | histogram | %s |\n"
                        .formatted(ShuffleSource.READ_LATENCY, ShuffleSource.READ_LATENCY_MEANING))
                .toString();
    }
}
