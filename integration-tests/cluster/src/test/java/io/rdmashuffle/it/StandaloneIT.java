// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.launcher.JavaModuleOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Tuple2;

/** A standalone cluster as users have it: master and worker are processes of their own. */
@Tag("system")
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class StandaloneIT {
    private static final String HOST = "127.0.0.1";
    private static final int MAPS = 8;
    private static final String OUTLIVE = "spark.shuffle.rdma.outlive.enabled";

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

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

    /** Starts master and worker; options are for the worker's JVM. Returns the master's address. */
    private String startDaemons(String... workerOptions) throws IOException {
        Path logs = Files.createDirectories(Workspace.find().target("cluster").resolve("it"));
        String port = String.valueOf(freePort());
        String master = "spark://" + HOST + ":" + port;
        start(
                logs.resolve("master.log"),
                new JavaProcess(
                        "org.apache.spark.deploy.master.Master", "--host", HOST, "--port", port, "--webui-port", "0"));
        start(
                logs.resolve("worker.log"),
                new JavaProcess(
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
                                master)
                        .options(workerOptions));
        return master;
    }

    private static Map<String, String> twoExecutors(String master, String... more) {
        Map<String, String> conf = new HashMap<>(Map.of(
                "spark.master", master,
                "spark.executor.cores", "1",
                "spark.executor.memory", "768m",
                "spark.cores.max", "2"));
        for (int i = 0; i < more.length; i += 2) {
            conf.put(more[i], more[i + 1]);
        }
        return conf;
    }

    private Map<String, String> withService(String... more) throws IOException {
        String port = String.valueOf(freePort());
        String master = startDaemons("-Dspark.shuffle.service.enabled=true", "-Dspark.shuffle.service.port=" + port);
        Map<String, String> conf = twoExecutors(master, more);
        conf.put("spark.shuffle.service.enabled", "true");
        conf.put("spark.shuffle.service.port", port);
        conf.put("spark.shuffle.rdma.pool.directory", pools.path().toString());
        return conf;
    }

    private static JavaPairRDD<Long, Long> sums(SparkCluster cluster) {
        return JavaSparkContext.fromSparkContext(cluster.context())
                .parallelize(LongStream.range(0, 10_000).boxed().toList(), MAPS)
                .mapToPair(value -> new Tuple2<>(value % 100, value))
                .reduceByKey(Long::sum, 8);
    }

    private static Map<Long, Long> firstSums(JavaPairRDD<Long, Long> sums) {
        Map<Long, Long> first = sums.collectAsMap();
        assertThat(first).hasSize(100).containsEntry(7L, 495_700L);
        return first;
    }

    /**
     * An executor that is killed before it has decided on its files leaves them, also at the end of the application.
     * The next pool on the host removes them.
     */
    private void assertNoPoolAfterTheNextStart() throws Exception {
        ShuffleObserver.await("no pool is left", () -> {
            int unused = Pool.removeAbandoned(pools.path());
            return pools.pools() == 0;
        });
    }

    private static void kill(List<ProcessHandle> victims) throws Exception {
        for (ProcessHandle victim : victims) {
            assertThat(victim.destroyForcibly()).isTrue();
            victim.onExit().get(30, TimeUnit.SECONDS);
        }
    }

    /** Sort shuffle serves all of the application then, and what users have the service for still holds. */
    @Test
    void anExternalServiceServesFilesOfAKilledExecutor() throws Exception {
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, withService())) {
            TaskRecorder recorder = new TaskRecorder(cluster.context());
            JavaPairRDD<Long, Long> sums = sums(cluster);
            Map<Long, Long> first = firstSums(sums);
            kill(cluster.executorProcesses().subList(0, 1));
            assertThat(sums.collectAsMap()).isEqualTo(first);
            assertThat(recorder.mapTasks()).isEqualTo(MAPS);
            assertThat(pools.files()).isEmpty();
        }
    }

    /** New executors read in place, or from the service. */
    @ParameterizedTest
    @EnumSource(names = {"AUTO", "TCP", "NETTY"})
    void anExternalServiceServesPoolsOfKilledExecutors(ShuffleMode mode) throws Exception {
        try (SparkCluster cluster = SparkCluster.start(
                2, mode, withService(OUTLIVE, "true", "spark.shuffle.rdma.pool.idleTimeout", "2s"))) {
            TaskRecorder recorder = new TaskRecorder(cluster.context());
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            JavaPairRDD<Long, Long> sums = sums(cluster);
            Map<Long, Long> first = firstSums(sums);
            ClusterStatistics before = observer.statistics();
            assertThat(before.total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(MAPS);
            assertThat(before.total(ShuffleCounter.MAP_OUTPUTS_COPIED)).isZero();
            List<String> writers = List.copyOf(observer.outputsByExecutor().keySet());

            kill(cluster.executorProcesses());
            for (String writer : writers) {
                recorder.awaitRemoval(writer, 60);
            }
            assertThat(sums.collectAsMap()).isEqualTo(first);
            assertThat(recorder.mapTasks()).as("none is run again").isEqualTo(MAPS);
            assertThat(recorder.failures()).isEmpty();
            ShuffleCounter path = mode == ShuffleMode.AUTO ? ShuffleCounter.SHM_BYTES : ShuffleCounter.NETTY_BYTES;
            assertThat(observer.statistics().total(path)).isPositive();

            observer.dropAllShuffles();
            ShuffleObserver.await("pools of ended executors are removed", () -> pools.pools() <= 2);
        }
        assertNoPoolAfterTheNextStart();
    }

    /** Nothing is written again, as with sort shuffle, although the pools are gone. */
    @Test
    void outputsBeyondTheBoundAreServedFromDisk() throws Exception {
        try (SparkCluster cluster = SparkCluster.start(
                2,
                ShuffleMode.AUTO,
                withService(
                        OUTLIVE,
                        "true",
                        "spark.shuffle.rdma.outlive.maxBytes",
                        "0",
                        "spark.shuffle.rdma.pool.idleTimeout",
                        "2s"))) {
            TaskRecorder recorder = new TaskRecorder(cluster.context());
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            JavaPairRDD<Long, Long> sums = sums(cluster);
            Map<Long, Long> first = firstSums(sums);
            assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_COPIED))
                    .isZero();
            List<Path> written = pools.files();
            // While the worker removes other files of the first, the second moves its outputs; a new executor moves
            // those of the second.
            for (String writer : List.copyOf(observer.outputsByExecutor().keySet())) {
                kill(List.of(cluster.executorProcess(writer)));
                recorder.awaitRemoval(writer, 60);
                assertThat(sums.collectAsMap()).isEqualTo(first);
            }
            ShuffleObserver.await(
                    "no pool of an ended executor is left",
                    () -> written.stream().noneMatch(Files::exists));
            assertThat(sums.collectAsMap()).isEqualTo(first);
            assertThat(recorder.mapTasks()).as("none is run again").isEqualTo(MAPS);
            assertThat(recorder.failures()).isEmpty();
            assertThat(observer.statistics().total(ShuffleCounter.NETTY_BYTES)).isPositive();
        }
    }

    @Test
    void dynamicAllocationReleasesAllExecutorsAndNoMapTaskIsRunAgain() throws Exception {
        Map<String, String> conf = withService(
                OUTLIVE,
                "true",
                "spark.dynamicAllocation.enabled",
                "true",
                "spark.dynamicAllocation.maxExecutors",
                "2",
                "spark.dynamicAllocation.executorIdleTimeout",
                "1s",
                "spark.dynamicAllocation.shuffleTracking.enabled",
                "false");
        try (SparkCluster cluster = SparkCluster.start(0, ShuffleMode.TCP, conf)) {
            TaskRecorder recorder = new TaskRecorder(cluster.context());
            JavaPairRDD<Long, Long> sums = sums(cluster);
            Map<Long, Long> first = firstSums(sums);
            ShuffleObserver.await(
                    "all executors are released",
                    () -> cluster.executorProcesses().isEmpty());
            assertThat(pools.files()).as("left for the service").isNotEmpty();
            assertThat(sums.collectAsMap()).isEqualTo(first);
            assertThat(recorder.mapTasks()).isEqualTo(MAPS);
            assertThat(recorder.failures()).isEmpty();
        }
        assertNoPoolAfterTheNextStart();
    }

    private void start(Path log, JavaProcess daemon) throws IOException {
        daemons.add(daemon.spark(SparkHome.of(Workspace.find()), JavaModuleOptions.defaultModuleOptions())
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
