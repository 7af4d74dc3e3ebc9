// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.ui;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.spark.metrics.ApplicationInfo;
import io.rdmashuffle.spark.metrics.ApplicationReports;
import io.rdmashuffle.spark.metrics.ReportStore;
import io.rdmashuffle.spark.metrics.TestReports;
import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.Map;
import org.apache.spark.util.kvstore.InMemoryStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the tab says. */
@Tag("unit")
@Timeout(60)
class ReportPageTest {
    private final ReportStore store = new ReportStore(new InMemoryStore());
    private final ReportPage page = new ReportPage(store);

    private void know(String whySort) {
        String key = ShuffleConfig.POOL_MAX_SIZE.key();
        Map<String, String> values = Map.of(key, "64m", ShuffleConfig.OUTLIVE_ENABLED.key(), "false");
        store.put(new ApplicationInfo("1.2.3", whySort, Map.of(key, "64m (default 1g)"), values));
    }

    @Test
    void aFullPoolIsSaidWithTheKeyToRaise() {
        know("");
        store.put(TestReports.kept(
                "1", false, Map.of(ShuffleCounter.POOL_FULL, 10L, ShuffleCounter.MAP_OUTPUTS_ON_DISK, 100L)));
        store.put(TestReports.kept(
                "2",
                false,
                Map.of(
                        ShuffleCounter.POOL_FULL, 4L,
                        ShuffleCounter.MAP_OUTPUTS_ON_DISK, 20L,
                        ShuffleCounter.DISK_PEAK_BYTES, 5L << 20)));
        assertThat(page.get())
                .contains("Pool full 14 times, 120 map outputs went to disk:"
                        + " raise spark.shuffle.rdma.pool.maxSize (now 64m)")
                .contains("at most 5.0 MiB lay on disk");
    }

    /** What a host's tmpfs or a container's limit does not allow, no key raises. */
    @Test
    void aPoolThatItsHostKeepsSmallIsSaidWithWhatMakesRoom() {
        know("");
        store.put(TestReports.kept(
                "1", false, Map.of(ShuffleCounter.POOL_FULL, 10L, ShuffleCounter.POOL_CAP_BYTES, 64L << 20)));
        assertThat(page.get()).contains("raise spark.shuffle.rdma.pool.maxSize").doesNotContain("--shm-size");
        store.put(TestReports.kept(
                "2", false, Map.of(ShuffleCounter.POOL_FULL, 10L, ShuffleCounter.POOL_CAP_BYTES, 16L << 20)));
        assertThat(page.get())
                .contains("Pool full 20 times: 1 executors have pools of 16.0 MiB or more, and not of"
                        + " spark.shuffle.rdma.pool.maxSize (now 64m)")
                .contains("spark.shuffle.rdma.pool.directory", "--shm-size", "memory limit")
                .doesNotContain("raise spark.shuffle.rdma.pool.maxSize");
    }

    @Test
    void aFullPoolIsSaidWhereSettingsAreNotKnown() {
        store.put(TestReports.kept(
                "1", false, Map.of(ShuffleCounter.POOL_FULL, 10L, ShuffleCounter.POOL_CAP_BYTES, 64L << 20)));
        assertThat(page.get()).contains("Pool full 10 times: raise spark.shuffle.rdma.pool.maxSize (now ?)");
    }

    @Test
    void reportsPoolFilesThatAnotherProgramRemoved() {
        know("");
        store.put(TestReports.kept("1", false, Map.of(ShuffleCounter.POOL_FILES_REMOVED, 0L)));
        assertThat(page.get()).contains("Nothing to change");
        store.put(TestReports.kept("2", false, Map.of(ShuffleCounter.POOL_FILES_REMOVED, 3L)));
        assertThat(page.get()).contains("Another program removed 3 pool files", "RemoveIPC=no");
    }

    @Test
    void executorsThatAreNotListedAnyMoreCountInTheSums() {
        know("");
        ApplicationReports reports = new ApplicationReports(store, report -> {}, Duration.ofMinutes(1));
        for (int i = 0; i < 500; i++) {
            reports.take(TestReports.kept("" + i, true, Map.of(ShuffleCounter.SHM_BYTES, 1L << 20)));
        }
        assertThat(page.get()).contains("data-counter=\"shm\" data-value=\"" + (500L << 20) + "\"", "earlier ones");
    }

    @Test
    void tablesMarkNumbersForScreenReaders() {
        know("");
        store.put(TestReports.kept("1", false, Map.of(ShuffleCounter.SHM_BYTES, 5L << 20)));
        store.put(TestReports.kept("10", false, Map.of(ShuffleCounter.SHM_BYTES, 1L << 20)));
        store.put(TestReports.kept("2", true, Map.of(ShuffleCounter.SHM_BYTES, 1L << 20)));
        String html = page.get();
        assertThat(html)
                .contains("data-counter=\"shm\" data-value=\"7340032\" sorttable_customkey=\"7340032\">7.0 MiB<")
                .contains("shm: 2 (8, 9)")
                .contains("64m (default 1g)")
                .contains("Version of the RDMA shuffle: 1.2.3");
        assertThat(html.indexOf("data-executor=\"2\"")).isLessThan(html.indexOf("data-executor=\"10\""));
        assertThat(html).contains("stopped");
    }

    @Test
    void nothingToChangeIsSaidToo() {
        know("");
        store.put(TestReports.kept("1", false, Map.of(ShuffleCounter.SHM_BYTES, 5L << 20)));
        assertThat(page.get()).contains("Nothing to change");
    }

    @Test
    void reportsApplicationWithoutExecutors() {
        know("");
        assertThat(page.get()).doesNotContain("Nothing to change").contains("No executor has reported");
    }

    @Test
    void reportsLostExecutors() {
        know("");
        ApplicationReports reports = new ApplicationReports(store, report -> {}, Duration.ZERO);
        reports.take(TestReports.kept("1", false, Map.of(ShuffleCounter.SHM_BYTES, 5L << 20)));
        reports.take(TestReports.kept("2", false, Map.of(ShuffleCounter.SHM_BYTES, 5L << 20)));
        reports.removed("2");
        assertThat(page.get())
                .doesNotContain("Nothing to change")
                .contains("1 executors were lost", "see spark.shuffle.rdma.outlive.enabled (now false)");
    }

    @Test
    void reasonsAgainstRdmaCountOnSeveralHostsAndAreEscaped() {
        know("");
        store.put(TestReports.kept("1", false, Map.of()));
        assertThat(page.get()).doesNotContain("RDMA is not used between hosts");
        store.put(TestReports.kept("2", false, Map.of()));
        assertThat(page.get())
                .contains("RDMA is not used between hosts: no &lt;device&gt; &amp; no hope")
                .contains(ShuffleConfig.FABRIC_MODE.key())
                .doesNotContain("<device>");
    }

    @Test
    void sortFallbackReasonNeedsNoExecutor() {
        know("spark.shuffle.service.enabled=true <b>");
        assertThat(page.get())
                .contains("Spark&#39;s sort shuffle serves this application: spark.shuffle.service.enabled=true"
                        + " &lt;b&gt;");
    }

    @Test
    void nettyQuarantinesAndChecksumsAreSaid() {
        know("");
        store.put(TestReports.kept(
                "1",
                false,
                Map.of(
                        ShuffleCounter.NETTY_BYTES, 10L,
                        ShuffleCounter.SHM_BYTES, 90L,
                        ShuffleCounter.QUARANTINES, 3L,
                        ShuffleCounter.CHECKSUM_FAILURES, 2L)));
        assertThat(page.get())
                .contains("10 % of the bytes came over Spark&#39;s block transfer")
                .contains("failed 3 times")
                .contains("spark.shuffle.rdma.peer.quarantine")
                .contains("read 2 times with a wrong checksum");
    }

    @Test
    void anEmptyStoreMakesAPage() {
        assertThat(page.get()).contains("rdma-shuffle-executors");
        assertThat(store.isEmpty()).isTrue();
    }
}
