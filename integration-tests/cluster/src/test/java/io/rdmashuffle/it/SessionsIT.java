// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.spark.launcher.JavaModuleOptions;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Many users of one machine: clients of one long application, as of a Thrift server, and applications side by side. */
@Tag("system")
@Tag("long")
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class SessionsIT {
    private static final int CLIENTS = 4;
    private static final int QUERIES = 15;
    private static final int APPLICATIONS = 10;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    /** A pool of 16 MB holds the shuffles of some queries, so that those of all clients push one another out of it. */
    @Test
    void clientsOfOneApplicationGetTheirOwnResults() throws Exception {
        Map<String, String> conf = pools.conf(
                "spark.scheduler.mode", "FAIR",
                "spark.shuffle.rdma.pool.maxSize", "16m",
                "spark.shuffle.rdma.directory.maxShuffles", "64");
        ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            List<Future<?>> running = new ArrayList<>();
            for (int client = 0; client < CLIENTS; client++) {
                SparkSession session = cluster.spark().newSession();
                int multiple = client + 1;
                running.add(clients.submit(() -> {
                    for (int query = 1; query <= QUERIES; query++) {
                        assertSums(session, multiple, 10 * query);
                    }
                }));
            }
            for (Future<?> each : running) {
                each.get(5, TimeUnit.MINUTES);
            }
            assertThat(tasks.failures()).isEmpty();
            observer.assertAllComesBack();
        } finally {
            clients.shutdownNow();
        }
    }

    /** Sums multiples of some numbers by their remainder, with 20 bytes beside each. */
    private static void assertSums(SparkSession session, int multiple, int keys) {
        int numbers = 1_000 * keys;
        List<Row> sums = session.range(0, numbers, 1, 4)
                .withColumn("text", functions.lpad(functions.col("id").cast("string"), 20, "0"))
                .repartition(6, functions.col("text"))
                .groupBy(functions.col("id").mod(keys).as("key"))
                .agg(functions.sum(functions.col("id").multiply(multiple)), functions.max("text"))
                .collectAsList();
        assertThat(sums).hasSize(keys).allSatisfy(row -> {
            long key = row.getLong(0);
            // 1,000 numbers: key, key + keys, ...
            assertThat(row.getLong(1)).isEqualTo(multiple * (1_000 * key + keys * 999L * 1_000 / 2));
            assertThat(Long.parseLong(row.getString(2))).isEqualTo(numbers - keys + key);
        });
    }

    /** None takes the files of another, which lives, for those of one that was killed; all are gone in the end. */
    @Test
    void applicationsSideBySideKeepTheirFilesApart(@TempDir Path logs) throws Exception {
        List<Process> applications = new ArrayList<>();
        try {
            for (int i = 0; i < APPLICATIONS; i++) {
                applications.add(new JavaProcess(
                                Application.class.getName(), pools.path().toString(), logs.toString())
                        .moduleOptions(JavaModuleOptions.defaultModuleOptions())
                        .options("-Xmx512m", "-XX:TieredStopAtLevel=1")
                        .classPath(System.getProperty("java.class.path"))
                        .builder()
                        .redirectErrorStream(true)
                        .redirectOutput(logs.resolve(i + ".log").toFile())
                        .start());
            }
            for (int i = 0; i < APPLICATIONS; i++) {
                assertThat(applications.get(i).waitFor(5, TimeUnit.MINUTES)).isTrue();
                assertThat(applications.get(i).exitValue())
                        .as(Files.readString(logs.resolve(i + ".log")))
                        .isZero();
            }
            assertThat(pools.files()).isEmpty();
        } finally {
            applications.forEach(Process::destroyForcibly);
        }
    }

    /** A local application: runs jobs until all applications have run one, so that all have files at the same time. */
    static final class Application {
        private static final GroupedBytes JOB = new GroupedBytes(4, 3, 0);

        private Application() {}

        public static void main(String[] arguments) throws Exception {
            Map<String, String> conf = new HashMap<>(Map.of(
                    "spark.master", "local[1]",
                    "spark.shuffle.rdma.pool.directory", arguments[0],
                    "spark.shuffle.rdma.pool.maxSize", "64m"));
            Path folder = Path.of(arguments[1]);
            try (SparkSession spark = LocalSpark.start(conf)) {
                run(spark);
                Files.createFile(folder.resolve(ProcessHandle.current().pid() + ".ran"));
                long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(4);
                while (ran(folder) < APPLICATIONS) {
                    if (System.nanoTime() - deadline > 0) {
                        throw new IllegalStateException("the other applications have not run");
                    }
                    Thread.sleep(200);
                }
                run(spark);
            }
        }

        private static void run(SparkSession spark) {
            assertThat(GroupedBytes.sums(JOB.prepare(spark))).isEqualTo(JOB.expected());
        }

        private static long ran(Path folder) throws Exception {
            try (var files = Files.list(folder)) {
                return files.filter(file -> file.toString().endsWith(".ran")).count();
            }
        }
    }
}
