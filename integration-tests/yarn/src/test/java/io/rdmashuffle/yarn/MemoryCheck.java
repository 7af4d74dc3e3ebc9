// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ServerProcess;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.yarn.NodeManagerLog.Usage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * {@code bin/yarn-test}: what a NodeManager makes of containers whose executors have mapped each other's pools, so that
 * their resident memory is above the container's limit although heap and own pool fit.
 */
@Tag("system")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class MemoryCheck {
    private static final int EXECUTORS = 4;
    private static final int OUTPUTS = 8;
    private static final int OUTPUT_MEBIBYTES = 160;
    private static final int LIMIT_MEBIBYTES = 1280;
    private static final String SMAPS = "yarn.nodemanager.container-monitor.procfs-tree.smaps-based-rss.enabled";
    private static final String PROCESS_TREE = "yarn.nodemanager.container-monitor.process-tree.class";
    private static final int READINGS = 2;
    private static final Duration TIMEOUT = Duration.ofMinutes(4);
    private static final int MEASUREMENTS = 3;
    private static final long POLL_MILLIS = 200;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private final Workspace workspace = Workspace.find();

    /** Heap, the usual overhead and the pool make the limit, as conf/yarn.conf says. */
    private Map<String, String> conf(Path events) throws IOException {
        Map<String, String> conf = new HashMap<>(EventLog.conf(Files.createDirectories(events)));
        conf.put("spark.executor.memory", "512m");
        conf.put("spark.executor.memoryOverhead", (LIMIT_MEBIBYTES - 512) + "m");
        conf.put("spark.shuffle.rdma.pool.maxSize", "384m");
        conf.put("spark.shuffle.rdma.pool.initialSize", "64m");
        conf.put("spark.shuffle.rdma.pool.directory", pools.path().toString());
        for (String bound : List.of("minExecutors", "initialExecutors", "maxExecutors")) {
            conf.put("spark.dynamicAllocation." + bound, String.valueOf(EXECUTORS));
        }
        conf.put("spark.scheduler.minRegisteredResourcesRatio", "1.0");
        conf.put("spark.scheduler.maxRegisteredResourcesWaitingTime", "180s");
        return conf;
    }

    /** What came of an application: its answers, its executors, and what the NodeManager saw and did. */
    private record Seen(List<String> answers, List<PoolsInMemory> executors, NodeManagerLog log, EventLog events) {
        double largestMeasurement() {
            return log.usages().stream().mapToDouble(Usage::physical).max().orElse(0);
        }

        void show(String name) {
            YarnRuns.show(name + ": bytes read, and of those wrong: " + String.join(", ", answers));
            executors.forEach(
                    executor -> YarnRuns.show(name + ": an executor of " + LIMIT_MEBIBYTES + " MiB has " + executor));
            YarnRuns.show(name + ": the NodeManager measures at most " + largestMeasurement() + " MiB");
            log.kills().forEach(kill -> YarnRuns.show(name + ": " + kill));
        }
    }

    private Seen run(String name, Map<String, String> nodeManager, boolean untilKilled) throws Exception {
        Path folder = YarnRuns.fresh(workspace, name);
        Path events = folder.resolve("events");
        try (YarnCluster cluster = YarnCluster.start(workspace, folder.resolve("yarn"), nodeManager)) {
            List<String> answers = new ArrayList<>();
            List<PoolsInMemory> executors = new ArrayList<>();
            try (ServerProcess server = new ServerProcess(
                    YarnSubmission.prepare(workspace, cluster, folder)
                            .process(
                                    workspace.root().resolve("conf/yarn.conf"),
                                    conf(events),
                                    "yarn",
                                    PeerReads.class,
                                    String.valueOf(EXECUTORS),
                                    String.valueOf(OUTPUTS),
                                    String.valueOf(OUTPUT_MEBIBYTES)),
                    folder.resolve("driver.log"),
                    PeerReads.PREFIX)) {
                for (int i = 0; i < READINGS; i++) {
                    server.send("read");
                    ServerProcess.Reply reply = server.await(TIMEOUT);
                    answers.add(reply.came() ? reply.line() : reply.error());
                }
                awaitMeasurements(cluster, untilKilled);
                for (ProcessHandle executor : cluster.executors()) {
                    executors.add(PoolsInMemory.of(executor));
                }
            }
            Seen seen =
                    new Seen(answers, executors, NodeManagerLog.read(cluster.nodeManagerLog()), EventLog.read(events));
            seen.show(name);
            return seen;
        }
    }

    private void awaitMeasurements(YarnCluster cluster, boolean untilKilled) throws IOException, InterruptedException {
        int before = NodeManagerLog.read(cluster.nodeManagerLog()).usages().size();
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        boolean done;
        do {
            Thread.sleep(POLL_MILLIS);
            NodeManagerLog log = NodeManagerLog.read(cluster.nodeManagerLog());
            done = !log.kills().isEmpty()
                    || (!untilKilled && log.usages().size() >= before + MEASUREMENTS * (EXECUTORS + 1));
        } while (!done && System.nanoTime() - deadline < 0);
    }

    /** Every byte of every reading came right, whatever became of executors. */
    private static void assertRight(Seen seen) {
        long bytes = ((long) EXECUTORS * OUTPUTS * OUTPUT_MEBIBYTES) << 20;
        assertThat(seen.answers()).hasSize(READINGS).containsOnly(bytes + " 0");
    }

    private static void assertAllAliveAboveTheirLimit(Seen seen) {
        assertRight(seen);
        assertThat(seen.log().kills()).isEmpty();
        assertThat(seen.events().removed()).isEmpty();
        assertThat(seen.executors()).hasSize(EXECUTORS).allSatisfy(executor -> {
            assertThat(executor.resident()).isGreaterThan(LIMIT_MEBIBYTES);
            assertThat(executor.anonymous() + executor.ownPool()).isLessThan(LIMIT_MEBIBYTES);
        });
    }

    private static void assertKilled(Seen seen) {
        assertThat(seen.log().kills()).isNotEmpty().allMatch(kill -> kill.contains("'PHYSICAL'"));
        assertThat(seen.events().removed().values())
                .anyMatch(reason -> reason.contains("exceeding physical memory limits"));
    }

    @Test
    void peersPoolsCountAsTheReadersMemory() throws Exception {
        assertKilled(run("rss", YarnRuns.MONITOR_KILLS, true));
    }

    @Test
    void theKeyOfSmapsAloneChangesNothing() throws Exception {
        Map<String, String> keys = new HashMap<>(YarnRuns.MONITOR_KILLS);
        keys.put(SMAPS, "true");
        assertKilled(run("smaps-alone", keys, true));
    }

    @Test
    void withTheClassThatReadsTheKeyNoPoolCounts() throws Exception {
        Map<String, String> keys = new HashMap<>(YarnRuns.MONITOR_KILLS);
        keys.put(SMAPS, "true");
        keys.put(PROCESS_TREE, "org.apache.hadoop.yarn.util.ProcfsBasedProcessTree");
        Seen seen = run("smaps", keys, false);
        assertAllAliveAboveTheirLimit(seen);
        assertThat(seen.largestMeasurement())
                .as("not even the own pool counts")
                .isLessThan(LIMIT_MEBIBYTES - OUTPUT_MEBIBYTES);
    }

    @Test
    void withTheDefaultsTheMonitorMeasuresAndKillsNothing() throws Exception {
        Seen seen = run("defaults", Map.of(), false);
        assertAllAliveAboveTheirLimit(seen);
        assertThat(seen.largestMeasurement()).isGreaterThan(LIMIT_MEBIBYTES);
    }
}
