// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code bin/alerts-test}: a Prometheus that scrapes a running application has data for every panel of
 * {@code conf/grafana-dashboard.json} and every ratio of {@code conf/prometheus-rules.yml}, and can evaluate all of its
 * alerts.
 */
@Tag("system")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class PrometheusCheck {
    private static final Duration DATA_TIMEOUT = Duration.ofSeconds(60);
    private static final ObjectMapper JSON = new ObjectMapper();

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @TempDir
    Path logs;

    @TempDir
    Path prometheus;

    private final HttpClient http = HttpClient.newHttpClient();
    private int port;

    @Test
    void everyPanelAndEveryRuleHasData() throws Exception {
        Map<String, String> conf = ReportPages.conf(pools.path(), logs);
        conf.put("spark.ui.enabled", "true");
        conf.put("spark.ui.port", "0");
        conf.put("spark.metrics.namespace", "spark");
        conf.put(
                "spark.metrics.conf.driver.sink.prometheusServlet.class",
                "org.apache.spark.metrics.sink.PrometheusServlet");
        conf.put("spark.metrics.conf.driver.sink.prometheusServlet.path", "/metrics/prometheus");
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleJobs.runAll(cluster.spark());
            URI ui = URI.create(cluster.context().uiWebUrl().get());
            Process scraper = start(ui.getPort());
            try {
                for (String expression : expressions()) {
                    awaitData(expression);
                }
                awaitData("rdma_shuffle:map_outputs_out_of_memory:ratio > 0");
                assertThatAllRulesAreHealthy();
            } finally {
                scraper.destroy();
                scraper.waitFor(30, TimeUnit.SECONDS);
            }
        }
    }

    private Process start(int target) throws IOException {
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        Path config = prometheus.resolve("prometheus.yml");
        Files.writeString(config, """
                global: {scrape_interval: 1s, evaluation_interval: 1s}
                rule_files: ["%s"]
                scrape_configs:
                  - job_name: drivers
                    metrics_path: /metrics/prometheus/
                    static_configs: [{targets: ["localhost:%d"]}]
                """.formatted(Workspace.find().root().resolve("conf/prometheus-rules.yml"), target));
        return new ProcessBuilder(
                        System.getenv().getOrDefault("PROMETHEUS", "prometheus"),
                        "--config.file=" + config,
                        "--storage.tsdb.path=" + prometheus.resolve("data"),
                        "--web.listen-address=127.0.0.1:" + port)
                .redirectErrorStream(true)
                .redirectOutput(prometheus.resolve("log.txt").toFile())
                .start();
    }

    /** Returns the expressions of the dashboard, for all drivers, and the recorded rules. */
    private static List<String> expressions() throws IOException {
        Path root = Workspace.find().root();
        List<String> expressions = new ArrayList<>();
        for (JsonNode panel : JSON.readTree(
                        root.resolve("conf/grafana-dashboard.json").toFile())
                .get("panels")) {
            for (JsonNode target : panel.get("targets")) {
                expressions.add(
                        target.get("expr").asText().replace("$instance", ".*").replace("$__rate_interval", "1m"));
            }
        }
        assertThat(expressions).hasSizeGreaterThan(20);
        for (String line : Files.readAllLines(root.resolve("conf/prometheus-rules.yml"))) {
            if (line.strip().startsWith("- record: ")) {
                expressions.add(line.strip().substring("- record: ".length()));
            } else if (line.strip().startsWith("expr: ") && line.endsWith(" > 0")) {
                // An inactive alert has no data; its compared expression has.
                expressions.add(line.strip().replaceAll("^expr: | > 0$", ""));
            }
        }
        return expressions;
    }

    private void awaitData(String expression) throws Exception {
        long deadline = System.nanoTime() + DATA_TIMEOUT.toNanos();
        JsonNode found = JSON.createArrayNode();
        while (found.isEmpty() && System.nanoTime() - deadline < 0) {
            Thread.sleep(200);
            found = query(expression);
        }
        assertThat(found)
                .as("data of %s; %s", expression, Files.readString(prometheus.resolve("log.txt")))
                .isNotEmpty();
    }

    /** Returns what an expression comes to at this moment; nothing while Prometheus does not answer. */
    private JsonNode query(String expression) throws InterruptedException {
        return ask("query?query=" + URLEncoder.encode(expression, StandardCharsets.UTF_8))
                .path("result");
    }

    private void assertThatAllRulesAreHealthy() throws InterruptedException {
        JsonNode groups = ask("rules").path("groups");
        assertThat(groups).hasSize(1);
        JsonNode rules = groups.get(0).get("rules");
        assertThat(rules).hasSizeGreaterThan(5);
        rules.forEach(rule ->
                assertThat(rule.get("health").asText()).as(rule.toString()).isEqualTo("ok"));
    }

    private JsonNode ask(String what) throws InterruptedException {
        URI address = URI.create("http://127.0.0.1:" + port + "/api/v1/" + what);
        try {
            String answer = http.send(
                            HttpRequest.newBuilder(address)
                                    .timeout(Duration.ofSeconds(10))
                                    .build(),
                            BodyHandlers.ofString())
                    .body();
            JsonNode tree = JSON.readTree(answer);
            assertThat(tree.path("status").asText("")).as(answer).isEqualTo("success");
            return tree.get("data");
        } catch (IOException e) {
            return JSON.createObjectNode();
        }
    }
}
