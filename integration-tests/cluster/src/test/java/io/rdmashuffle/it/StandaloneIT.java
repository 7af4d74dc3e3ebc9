// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.launcher.JavaModuleOptions;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A standalone cluster as users have it: master and worker are processes of their own. */
@Tag("system")
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class StandaloneIT {
    private static final String HOST = "127.0.0.1";

    private final List<Process> daemons = new ArrayList<>();

    @AfterEach
    void endDaemons() throws Exception {
        for (Process daemon : daemons) {
            daemon.destroy();
            if (!daemon.waitFor(20, TimeUnit.SECONDS)) {
                daemon.destroyForcibly();
            }
        }
    }

    @Test
    void executorsOfAStandaloneWorkerReadEachOthersMemory() throws Exception {
        Path logs = Files.createDirectories(Workspace.find().target("cluster").resolve("it"));
        String master = "spark://" + HOST + ":" + freePort();
        String port = master.substring(master.lastIndexOf(':') + 1);
        start(
                logs.resolve("master.log"),
                "org.apache.spark.deploy.master.Master",
                "--host",
                HOST,
                "--port",
                port,
                "--webui-port",
                "0");
        start(
                logs.resolve("worker.log"),
                "org.apache.spark.deploy.worker.Worker",
                "--host",
                HOST,
                "--webui-port",
                "0",
                "--cores",
                "2",
                "--memory",
                "2g",
                "--work-dir",
                logs.resolve("work").toString(),
                master);
        Map<String, String> conf = Map.of(
                "spark.master", master,
                "spark.executor.cores", "1",
                "spark.executor.memory", "768m",
                "spark.cores.max", "2");

        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
            List<Row> groups = cluster.spark()
                    .range(100_000)
                    .groupBy(functions.col("id").mod(100).as("key"))
                    .count()
                    .collectAsList();

            assertThat(groups).hasSize(100).allMatch(row -> row.getLong(1) == 1_000);
            ClusterStatistics statistics = observer.statistics();
            assertThat(statistics.byExecutor()).hasSize(2);
            assertThat(statistics.total(ShuffleCounter.SHM_BYTES)).isPositive();
            assertThat(statistics.total(ShuffleCounter.NETTY_BYTES)).isZero();
            assertThat(statistics.total(ShuffleCounter.FILE_BYTES)).isZero();
        }
    }

    private void start(Path log, String mainClass, String... arguments) throws IOException {
        SparkHome home = SparkHome.of(Workspace.find());
        daemons.add(new JavaProcess(mainClass, arguments)
                .spark(home, JavaModuleOptions.defaultModuleOptionArray())
                .builder()
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start());
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
