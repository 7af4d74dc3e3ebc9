// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.history.FsHistoryProvider;
import org.apache.spark.deploy.history.HistoryServer;
import org.apache.spark.deploy.history.HistoryServer$;
import org.apache.spark.scheduler.ReplayListenerBus;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * What executors report, where users look: the driver's metrics, the tab while the application runs, and the tab that
 * the
 * history server makes of the event log.
 */
@Tag("system")
@Tag("line")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class ReportsIT {
    /** Counters that stand still once jobs have ended. */
    private static final List<ShuffleCounter> SETTLED = List.of(
            ShuffleCounter.LOCAL_BYTES,
            ShuffleCounter.SHM_BYTES,
            ShuffleCounter.NETTY_BYTES,
            ShuffleCounter.FILE_BYTES,
            ShuffleCounter.POOL_FULL,
            ShuffleCounter.MAP_OUTPUTS_POOLED,
            ShuffleCounter.MAP_OUTPUTS_ON_DISK,
            ShuffleCounter.MAP_OUTPUTS_FILED);

    private static final Pattern NUMBER = Pattern.compile("data-counter=\"(\\w+)\" data-value=\"(-?\\d+)\"");
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String POOL_KEY = "spark.shuffle.rdma.pool.maxSize";

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @TempDir
    Path logs;

    private final HttpClient http =
            HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();

    private Map<String, String> conf() {
        Map<String, String> conf = new HashMap<>(ShuffleJobs.settings());
        conf.put("spark.shuffle.rdma.pool.directory", pools.path().toString());
        conf.put(POOL_KEY, "8m");
        conf.put("spark.shuffle.rdma.metrics.interval", "1s");
        conf.put("spark.eventLog.enabled", "true");
        conf.put("spark.eventLog.compress", "false");
        conf.put("spark.eventLog.dir", logs.toUri().toString());
        return conf;
    }

    private String get(String address) throws Exception {
        HttpResponse<String> answer = http.send(
                HttpRequest.newBuilder(URI.create(address))
                        .timeout(Duration.ofSeconds(20))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        return answer.statusCode() == 200 ? answer.body() : answer.statusCode() + " " + answer.body();
    }

    /** Returns the sums of the table of executors, by label. */
    private static Map<String, Long> sums(String page) {
        Map<String, Long> sums = new HashMap<>();
        int from = page.indexOf("id=\"rdma-shuffle-executors\"");
        Matcher numbers = NUMBER.matcher(from < 0 ? "" : page.substring(from));
        while (numbers.find()) {
            sums.merge(numbers.group(1), Long.parseLong(numbers.group(2)), Long::sum);
        }
        return sums;
    }

    private static Map<String, Long> totals(String page) {
        int from = page.indexOf("id=\"rdma-shuffle-totals\"");
        int to = page.indexOf("id=\"rdma-shuffle-executors\"");
        Map<String, Long> totals = new HashMap<>();
        Matcher numbers = NUMBER.matcher(from < 0 || to < from ? "" : page.substring(from, to));
        while (numbers.find()) {
            totals.put(numbers.group(1), Long.parseLong(numbers.group(2)));
        }
        return totals;
    }

    private static Map<String, Long> settled(Map<String, Long> all) {
        Map<String, Long> settled = new HashMap<>();
        SETTLED.forEach(counter -> settled.put(counter.label(), all.getOrDefault(counter.label(), -1L)));
        return settled;
    }

    private static Map<String, Long> settled(ClusterStatistics statistics) {
        Map<String, Long> settled = new HashMap<>();
        SETTLED.forEach(counter -> settled.put(counter.label(), statistics.total(counter)));
        return settled;
    }

    /** Fetches a page until it has these totals. */
    private String pageWith(String address, Map<String, Long> totals) throws Exception {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        String page = get(address);
        while (!settled(totals(page)).equals(totals) && System.nanoTime() < deadline) {
            Thread.sleep(200);
            page = get(address);
        }
        assertThat(settled(totals(page))).as(page).isEqualTo(totals);
        assertThat(settled(sums(page))).as(page).isEqualTo(totals);
        return page;
    }

    private static void assertTellsWhatToChange(String page) {
        assertThat(page)
                .contains("Pool full ", " map outputs went to disk: raise " + POOL_KEY + " (now 8m)")
                .contains(POOL_KEY + "</td><td>8m (default 1g)")
                .contains("RDMA shuffle");
    }

    @Test
    void theNumbersAreThoseOfTheCountersWhereverUsersLook() throws Exception {
        Map<String, String> conf = conf();
        conf.put("spark.ui.enabled", "true");
        conf.put("spark.ui.port", "0");
        conf.put(
                "spark.metrics.conf.driver.sink.prometheusServlet.class",
                "org.apache.spark.metrics.sink.PrometheusServlet");
        conf.put("spark.metrics.conf.driver.sink.prometheusServlet.path", "/metrics/prometheus");
        Map<String, Long> totals;
        String applicationId;
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
            ShuffleJobs.runAll(cluster.spark());
            totals = settled(observer.statistics());
            assertThat(totals.get(ShuffleCounter.SHM_BYTES.label())).isPositive();
            assertThat(totals.get(ShuffleCounter.MAP_OUTPUTS_ON_DISK.label())).isPositive();
            String address = cluster.context().uiWebUrl().get();
            applicationId = cluster.context().applicationId();

            String page = pageWith(address + "/rdmashuffle/", totals);
            assertTellsWhatToChange(page);
            assertThat(page).contains("shm: 1 (");
            assertThat(get(address + "/metrics/prometheus/"))
                    .containsPattern("driver_rdmaShuffle_shmBytes_Value[^ ]* "
                            + totals.get(ShuffleCounter.SHM_BYTES.label()) + "\\b")
                    .contains("rdmaShuffle_readLatencyMicros_");
        }
        assertTellsWhatToChange(historyPage(applicationId, totals));
        assertReplaysWithoutThisJar();
    }

    /** The numbers must be in the log although the user interface is off, and the jobs shorter than the intervals. */
    @Test
    void theEventLogHasTheLastWordOfAShortApplicationWithoutAUserInterface() throws Exception {
        Map<String, String> conf = conf();
        conf.put("spark.shuffle.rdma.metrics.interval", "1h");
        Map<String, Long> totals;
        String applicationId;
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
            ShuffleJobs.runAll(cluster.spark());
            totals = settled(observer.statistics());
            applicationId = cluster.context().applicationId();
        }
        historyPage(applicationId, totals);
    }

    private String historyPage(String applicationId, Map<String, Long> totals) throws Exception {
        SparkConf conf = new SparkConf(false)
                .set("spark.history.fs.logDirectory", logs.toUri().toString())
                .set("spark.history.fs.update.interval", "1s");
        FsHistoryProvider provider = new FsHistoryProvider(conf);
        HistoryServer server = new HistoryServer(conf, provider, HistoryServer$.MODULE$.createSecurityManager(conf), 0);
        try {
            server.bind();
            provider.start();
            return pageWith(
                    "http://localhost:" + server.boundPort() + "/history/" + applicationId + "/rdmashuffle/", totals);
        } finally {
            server.stop();
        }
    }

    private void assertReplaysWithoutThisJar() throws IOException {
        AtomicInteger ends = new AtomicInteger();
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(new ClassLoader(before) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (name.startsWith("io.rdmashuffle.")) {
                    throw new ClassNotFoundException(name);
                }
                return super.loadClass(name, resolve);
            }
        });
        try (Stream<Path> files = Files.walk(logs)) {
            Path log = files.filter(file ->
                            Files.isRegularFile(file) && !file.toString().endsWith(".crc"))
                    .filter(file -> !file.getFileName().toString().startsWith("appstatus"))
                    .findFirst()
                    .orElseThrow();
            assertThat(Files.readString(log))
                    .contains("io.rdmashuffle.spark.metrics.SparkListenerRdmaShuffleExecutor")
                    .contains("io.rdmashuffle.spark.metrics.SparkListenerRdmaShuffleApplication");
            ReplayListenerBus bus = new ReplayListenerBus();
            bus.addListener(new SparkListener() {
                @Override
                public void onApplicationEnd(SparkListenerApplicationEnd end) {
                    ends.incrementAndGet();
                }
            });
            try (InputStream bytes = Files.newInputStream(log)) {
                bus.replay(bytes, log.toString(), false, bus.replay$default$4());
            }
        } finally {
            thread.setContextClassLoader(before);
        }
        assertThat(ends).as("events of the end, after all others").hasValue(1);
    }
}
