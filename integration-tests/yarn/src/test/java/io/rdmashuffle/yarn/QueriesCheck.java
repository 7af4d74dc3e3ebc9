// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.demo.Application;
import io.rdmashuffle.demo.Comparison;
import io.rdmashuffle.demo.QueryComparison;
import io.rdmashuffle.demo.QueryServer;
import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import io.rdmashuffle.harness.tpcds.TpcdsData;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * {@code bin/yarn-test}: TPC-DS on YARN with the settings of {@code conf/yarn.conf}, scaled down. Executors come and go
 * by dynamic allocation, results are those of sort shuffle, bytes go through memory that containers share, and YARN
 * kills none of them.
 */
@Tag("system")
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class QueriesCheck {
    private static final List<String> QUERIES = List.of("q7", "q35", "q69");
    private static final BigDecimal SCALE = new BigDecimal("0.05");
    private static final Duration QUERY_TIMEOUT = Duration.ofMinutes(5);
    private static final int MOST_EXECUTORS = 3;
    private static final long RELEASE_SECONDS = 90;
    private static final long POLL_MILLIS = 200;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private final Workspace workspace = Workspace.find();
    private final Path folder = YarnRuns.fresh(workspace, "queries");

    /** What differs from the file: everything is smaller, and executors do not stay idle for a minute. */
    private Map<String, String> scaledDown(String application) throws IOException {
        Path events = Files.createDirectories(folder.resolve("events-" + application));
        Map<String, String> conf = new HashMap<>(EventLog.conf(events));
        conf.put("spark.app.name", application);
        conf.put("spark.executor.memory", "640m");
        conf.put("spark.executor.memoryOverhead", "512m");
        conf.put("spark.shuffle.rdma.pool.maxSize", "128m");
        conf.put("spark.shuffle.rdma.pool.initialSize", "32m");
        conf.put("spark.dynamicAllocation.initialExecutors", "1");
        conf.put("spark.dynamicAllocation.maxExecutors", String.valueOf(MOST_EXECUTORS));
        conf.put("spark.dynamicAllocation.executorIdleTimeout", "3s");
        conf.put("spark.sql.shuffle.partitions", "16");
        conf.put("spark.sql.autoBroadcastJoinThreshold", "256k");
        return conf;
    }

    private EventLog events(String application) throws IOException {
        return EventLog.read(folder.resolve("events-" + application));
    }

    private void awaitNoExecutors(String application) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(RELEASE_SECONDS);
        while (!events(application).present().isEmpty() && System.nanoTime() - deadline < 0) {
            Thread.sleep(POLL_MILLIS);
        }
        assertThat(events(application).present())
                .as("executors of %s that dynamic allocation keeps though they are idle", application)
                .isEmpty();
    }

    private Comparison applications(YarnCluster cluster, Path tables) throws IOException {
        YarnSubmission submission = YarnSubmission.prepare(workspace, cluster, folder);
        Application.Setting setting = new Application.Setting(workspace, tables, folder, QUERY_TIMEOUT);
        Path confFile = workspace.root().resolve("conf/yarn.conf");
        Map<String, String> sort = scaledDown("sort");
        sort.putAll(ShuffleMode.SORT.conf());
        Map<String, String> ours = scaledDown("ours");
        ours.put("spark.shuffle.rdma.pool.directory", pools.path().toString());
        String argument = tables.toString();
        return new Comparison(
                new Application(
                        "sort", setting, () -> submission.process(confFile, sort, "demo", QueryServer.class, argument)),
                new Application(
                        "ours", setting, () -> submission.process(confFile, ours, "demo", QueryServer.class, argument)),
                QueryCatalogue.load());
    }

    /** Returns the bytes of a query by path, without zeros. */
    private static String moved(Map<String, Long> counters) {
        return Stream.of(
                        ShuffleCounter.LOCAL_BYTES,
                        ShuffleCounter.SHM_BYTES,
                        ShuffleCounter.NETTY_BYTES,
                        ShuffleCounter.FILE_BYTES)
                .filter(counter -> counters.getOrDefault(counter.label(), 0L) != 0)
                .map(counter -> counter.label() + " " + counters.get(counter.label()) + " B")
                .collect(Collectors.joining(", "));
    }

    @Test
    void executorsComeAndGoAndResultsAreSortShuffles() throws Exception {
        TpcdsData data = new TpcdsData(workspace.data(), SCALE);
        data.ensure(workspace, YarnRuns::show);
        long sharedBytes = 0;
        long pooledOutputs = 0;
        EventLog events;
        try (YarnCluster cluster = YarnCluster.start(workspace, folder.resolve("yarn"), YarnRuns.MONITOR_KILLS)) {
            try (Comparison comparison = applications(cluster, data.folder())) {
                for (String query : QUERIES) {
                    QueryComparison compared = comparison.compare(query);
                    Map<String, Long> counters = compared.ours().counters();
                    sharedBytes += counters.getOrDefault(ShuffleCounter.SHM_BYTES.label(), 0L);
                    pooledOutputs += counters.getOrDefault(ShuffleCounter.MAP_OUTPUTS_POOLED.label(), 0L);
                    YarnRuns.show(compared + ", " + moved(counters));
                    assertThat(compared.verdict().equal())
                            .as(compared + " " + compared.sort().error()
                                    + compared.ours().error())
                            .isTrue();
                    assertThat(compared.ours().rows()).as("rows of %s", query).isPositive();
                    comparison.dropShuffles();
                    awaitNoExecutors("ours");
                }
                events = events("ours");
            }
            NodeManagerLog log = NodeManagerLog.read(cluster.nodeManagerLog());
            YarnRuns.show("executors of ours that came: " + events.added().size() + ", let go: "
                    + events.removed().size());
            YarnRuns.show("through shared memory: " + sharedBytes + " bytes; map outputs in pools: " + pooledOutputs);
            assertThat(log.usages()).as("measurements of containers").isNotEmpty();
            assertThat(log.kills()).isEmpty();
        }
        assertThat(events.added()).hasSizeGreaterThan(MOST_EXECUTORS);
        assertThat(events.removed().values()).allMatch(reason -> reason.equals("Executor killed by driver."));
        assertThat(events.stagesRunAgain()).isEmpty();
        assertThat(pooledOutputs).isPositive();
        assertThat(sharedBytes).isPositive();
    }
}
