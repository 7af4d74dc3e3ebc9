// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
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
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
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
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @TempDir
    Path logs;

    @TempDir
    Path sink;

    private final HttpClient http =
            HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();

    private String get(String address) throws Exception {
        HttpResponse<String> answer = http.send(
                HttpRequest.newBuilder(URI.create(address))
                        .timeout(Duration.ofSeconds(20))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        return answer.statusCode() == 200 ? answer.body() : answer.statusCode() + " " + answer.body();
    }

    /** Fetches a page until it has these totals. */
    private String pageWith(String address, Map<String, Long> totals) throws Exception {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        String page = get(address);
        while (!ReportPages.totals(page).equals(totals) && System.nanoTime() < deadline) {
            Thread.sleep(200);
            page = get(address);
        }
        assertThat(ReportPages.totals(page)).as(page).isEqualTo(totals);
        assertThat(ReportPages.sumsOfExecutors(page)).as(page).isEqualTo(totals);
        return page;
    }

    private static void assertTellsWhatToChange(String page) {
        assertThat(page)
                .contains("Pool full ", " map outputs went to disk: raise " + ReportPages.POOL_KEY + " (now 8m)")
                .contains(ReportPages.POOL_KEY + "</td><td>8m (default 1g)")
                .contains("RDMA shuffle");
    }

    @Test
    void theNumbersAreThoseOfTheCountersWhereverUsersLook() throws Exception {
        Map<String, String> conf = ReportPages.conf(pools.path(), logs);
        conf.put("spark.ui.enabled", "true");
        conf.put("spark.ui.port", "0");
        conf.put(
                "spark.metrics.conf.driver.sink.prometheusServlet.class",
                "org.apache.spark.metrics.sink.PrometheusServlet");
        conf.put("spark.metrics.conf.driver.sink.prometheusServlet.path", "/metrics/prometheus");
        conf.put("spark.metrics.conf.executor.sink.csv.class", "org.apache.spark.metrics.sink.CsvSink");
        conf.put("spark.metrics.conf.executor.sink.csv.period", "1");
        conf.put("spark.metrics.conf.executor.sink.csv.directory", sink.toString());
        Map<String, Long> totals;
        String applicationId;
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
            ShuffleJobs.runAll(cluster.spark());
            totals = ReportPages.counted(observer.statistics());
            assertThat(totals.get(ShuffleCounter.SHM_BYTES.label())).isPositive();
            assertThat(totals.get(ShuffleCounter.MAP_OUTPUTS_ON_DISK.label())).isPositive();
            String address = cluster.context().uiWebUrl().get();
            applicationId = cluster.context().applicationId();

            String page = pageWith(ReportPages.live(address), totals);
            assertTellsWhatToChange(page);
            assertThat(page).contains("shm: 1 (");
            assertThat(get(address + "/metrics/prometheus/"))
                    .containsPattern("driver_rdmaShuffle_shmBytes_Value[^ ]* "
                            + totals.get(ShuffleCounter.SHM_BYTES.label()) + "\\b")
                    .contains("rdmaShuffle_readLatencyMicros_");
            assertThatExecutorsSinksHave(
                    ShuffleCounter.SHM_BYTES.metric(), totals.getOrDefault(ShuffleCounter.SHM_BYTES.label(), -1L));
        }
        assertTellsWhatToChange(historyPage(applicationId, totals));
        assertReplaysWithoutThisJar();
    }

    /** The numbers must be in the log although the user interface is off, and the jobs shorter than the intervals. */
    @Test
    @Tag("nightly")
    void eventLogHasTheLastReportOfAShortApplication() throws Exception {
        Map<String, String> conf = ReportPages.conf(pools.path(), logs);
        conf.put("spark.shuffle.rdma.metrics.interval", "1h");
        Map<String, Long> totals;
        String applicationId;
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
            ShuffleJobs.runAll(cluster.spark());
            totals = ReportPages.counted(observer.statistics());
            applicationId = cluster.context().applicationId();
        }
        historyPage(applicationId, totals);
    }

    private String historyPage(String applicationId, Map<String, Long> totals) throws Exception {
        try (ReportPages.History history = new ReportPages.History(logs)) {
            return pageWith(history.tab(applicationId), totals);
        }
    }

    /** Each executor has a file for each metric, in which the last line has the last value. */
    private void assertThatExecutorsSinksHave(String metric, long sum) throws Exception {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        long found = -1;
        while (found != sum && System.nanoTime() < deadline) {
            Thread.sleep(200);
            try (Stream<Path> files = Files.list(sink)) {
                found = 0;
                for (Path file : files.filter(each -> each.toString().endsWith(".rdmaShuffle." + metric + ".csv"))
                        .toList()) {
                    List<String> lines = Files.readAllLines(file);
                    String last = lines.get(lines.size() - 1);
                    // The first line has names; one that is being written may be cut off.
                    found += last.matches("\\d+,\\d+") ? Long.parseLong(last.split(",", -1)[1]) : 0;
                }
            }
        }
        assertThat(found).as("%s of all executors' CSV sinks", metric).isEqualTo(sum);
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
