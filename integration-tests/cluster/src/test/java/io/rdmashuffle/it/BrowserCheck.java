// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code bin/ui-test}: the tab as a browser has it, with Spark's scripts and styles, while an application runs and in
 * the history server; its numbers compared with the counters, and pictures of it.
 */
@Tag("system")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class BrowserCheck {
    private static final long BROWSER_SECONDS = 60;
    private static final int ATTEMPTS = 20;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @TempDir
    Path logs;

    @TempDir
    Path browser;

    private String chromium(String... more) throws IOException, InterruptedException {
        Path out = browser.resolve("out.html");
        List<String> command = new ArrayList<>(List.of(
                System.getenv().getOrDefault("CHROMIUM", "chromium"),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--user-data-dir=" + browser.resolve("profile"),
                "--window-size=2200,700",
                "--virtual-time-budget=10000"));
        Collections.addAll(command, more);
        Process process = new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(browser.resolve("errors.txt").toFile())
                .start();
        if (!process.waitFor(BROWSER_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new IOException("no end of " + command);
        }
        return Files.readString(out);
    }

    private void check(String address, Map<String, Long> counted, String picture) throws Exception {
        String page = chromium("--dump-dom", address);
        for (int i = 1; i < ATTEMPTS && !ReportPages.totals(page).equals(counted); i++) {
            Thread.sleep(500);
            page = chromium("--dump-dom", address);
        }
        assertThat(ReportPages.totals(page)).as(page).isEqualTo(counted);
        assertThat(ReportPages.sumsOfExecutors(page)).as(page).isEqualTo(counted);
        assertThat(page).contains("Pool full ", "raise " + ReportPages.POOL_KEY + " (now 8m)");
        Path image = Files.createDirectories(Workspace.find().root().resolve("docs/images"))
                .resolve(picture);
        String unused = chromium("--screenshot=" + image, address);
        assertThat(image).isNotEmptyFile();
    }

    @Test
    void theTabInABrowserHasTheNumbersOfTheCounters() throws Exception {
        Map<String, String> conf = ReportPages.conf(pools.path(), logs);
        conf.put("spark.app.name", "an application whose pool is too small");
        conf.put("spark.ui.enabled", "true");
        conf.put("spark.ui.port", "0");
        Map<String, Long> counted;
        String applicationId;
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
            ShuffleJobs.runAll(cluster.spark());
            counted = ReportPages.counted(observer.statistics());
            applicationId = cluster.context().applicationId();
            check(ReportPages.live(cluster.context().uiWebUrl().get()), counted, "tab-live.png");
        }
        try (ReportPages.History history = new ReportPages.History(logs)) {
            check(history.tab(applicationId), counted, "tab-history.png");
        }
    }
}
