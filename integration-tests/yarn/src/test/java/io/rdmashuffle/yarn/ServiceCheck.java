// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ServerProcess;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.fixture.PoolFolder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * {@code bin/yarn-test}: the NodeManager has an external shuffle service with Spark's block handler, which serves the
 * pools of executors that have ended. YARN sends a container SIGTERM and, 250 ms later, SIGKILL.
 */
@Tag("system")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class ServiceCheck {
    private static final int EXECUTORS = 2;
    private static final int OUTPUTS = 8;
    private static final int OUTPUT_MEBIBYTES = 8;
    private static final String RIGHT = (((long) EXECUTORS * OUTPUTS * OUTPUT_MEBIBYTES) << 20) + " 0";
    private static final Duration TIMEOUT = Duration.ofMinutes(3);
    private static final long POLL_MILLIS = 200;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private final Workspace workspace = Workspace.find();

    private Map<String, String> conf(Path events, Map<String, String> more) throws IOException {
        Map<String, String> conf = new HashMap<>(EventLog.conf(Files.createDirectories(events)));
        conf.put("spark.shuffle.service.enabled", "true");
        conf.put("spark.dynamicAllocation.shuffleTracking.enabled", "false");
        conf.put("spark.dynamicAllocation.initialExecutors", String.valueOf(EXECUTORS));
        conf.put("spark.dynamicAllocation.maxExecutors", String.valueOf(EXECUTORS));
        conf.put("spark.executor.memory", "512m");
        conf.put("spark.executor.memoryOverhead", "640m");
        conf.put("spark.scheduler.minRegisteredResourcesRatio", "1.0");
        conf.put("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s");
        conf.put("spark.shuffle.rdma.outlive.enabled", "true");
        conf.put("spark.shuffle.rdma.pool.maxSize", "128m");
        conf.put("spark.shuffle.rdma.pool.initialSize", "32m");
        conf.put("spark.shuffle.rdma.pool.directory", pools.path().toString());
        conf.putAll(more);
        return conf;
    }

    private static Map<String, String> service() throws IOException {
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return Map.of(
                    "yarn.nodemanager.aux-services",
                    ShuffleAuxService.NAME,
                    "yarn.nodemanager.aux-services." + ShuffleAuxService.NAME + ".class",
                    ShuffleAuxService.class.getName(),
                    ShuffleAuxService.PORT_KEY,
                    String.valueOf(free.getLocalPort()));
        }
    }

    private void readTwice(String name, Map<String, String> more, Consumer<List<ProcessHandle>> end) throws Exception {
        Path folder = YarnRuns.fresh(workspace, name);
        Path events = folder.resolve("events");
        try (YarnCluster cluster = YarnCluster.start(workspace, folder.resolve("yarn"), service());
                ServerProcess server = new ServerProcess(
                        YarnSubmission.prepare(workspace, cluster, folder)
                                .process(
                                        workspace.root().resolve("conf/yarn.conf"),
                                        conf(events, more),
                                        "yarn",
                                        PeerReads.class,
                                        String.valueOf(EXECUTORS),
                                        String.valueOf(OUTPUTS),
                                        String.valueOf(OUTPUT_MEBIBYTES)),
                        folder.resolve("driver.log"),
                        PeerReads.PREFIX)) {
            assertThat(read(server)).isEqualTo(RIGHT);
            Set<String> writers = EventLog.read(events).added();
            end.accept(cluster.executors());
            awaitRemoval(events, writers);
            assertThat(pools.files()).as("left for the service").isNotEmpty();

            assertThat(read(server)).isEqualTo(RIGHT);
            EventLog log = EventLog.read(events);
            YarnRuns.show(name + ": executors that ended: " + writers.size() + ", map tasks: "
                    + log.mapTasks().size() + ", failed tasks: " + log.failures());
            assertThat(log.added()).hasSizeGreaterThan(writers.size());
            assertThat(log.mapTasks()).as("none is run again").hasSize(OUTPUTS);
            assertThat(log.failures()).isEmpty();
        }
    }

    private static String read(ServerProcess server) throws IOException, InterruptedException {
        server.send("read");
        ServerProcess.Reply reply = server.await(TIMEOUT);
        return reply.came() ? reply.line() : reply.error();
    }

    private static void awaitRemoval(Path events, Set<String> executors) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (!EventLog.read(events).removed().keySet().containsAll(executors) && System.nanoTime() - deadline < 0) {
            Thread.sleep(POLL_MILLIS);
        }
        assertThat(EventLog.read(events).removed()).containsKeys(executors.toArray(String[]::new));
    }

    @Test
    void dynamicAllocationReleasesAllExecutorsAndNoMapTaskIsRunAgain() throws Exception {
        readTwice("released", Map.of("spark.dynamicAllocation.executorIdleTimeout", "1s"), executors -> {});
    }

    @Test
    void theServiceServesPoolsOfKilledExecutors() throws Exception {
        readTwice(
                "killed",
                Map.of("spark.shuffle.rdma.fabric.mode", "netty"),
                executors -> executors.forEach(ProcessHandle::destroyForcibly));
    }
}
