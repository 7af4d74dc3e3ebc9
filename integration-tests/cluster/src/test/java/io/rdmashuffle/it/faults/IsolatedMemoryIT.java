// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Executors of one host each with a {@code /dev/shm} of its own, as containers have. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class IsolatedMemoryIT {
    private static final GroupedBytes JOB = new GroupedBytes(6, 4, 0);

    @Test
    void peersThatDoNotShareMemoryAreReadOverTcp(@TempDir Path javaHome) throws Exception {
        assertRead(javaHome, ShuffleMode.AUTO, ShuffleCounter.TCP_BYTES);
    }

    @Test
    void peersThatDoNotShareMemoryAreReadOverNetty(@TempDir Path javaHome) throws Exception {
        assertRead(javaHome, ShuffleMode.SHM, ShuffleCounter.NETTY_BYTES);
    }

    /** Equal paths that are not the same memory must not be taken for it. */
    private static void assertRead(Path javaHome, ShuffleMode mode, ShuffleCounter path) throws Exception {
        Commands.orSkip("unshare", "--mount", "true");
        Map<String, String> conf = new HashMap<>(
                Map.of("spark.executorEnv.JAVA_HOME", javaHome.toString(), "spark.shuffle.rdma.pool.maxSize", "64m"));
        Path java = Files.createDirectories(javaHome.resolve("bin")).resolve("java");
        Files.writeString(java, """
                #!/bin/bash
                # Starts an executor with a /dev/shm of its own.
                exec unshare --mount --propagation private bash -c '
                  mount -t tmpfs -o size=128m rdma-it /dev/shm && exec "%s" "$@"' java "$@"
                """.formatted(Path.of(System.getProperty("java.home"), "bin", "java")));
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
        try (SparkCluster cluster = SparkCluster.start(2, mode, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            for (int round = 0; round < 3; round++) {
                assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark(), ShuffleKind.IN_PLACE)))
                        .isEqualTo(JOB.expected());
            }
            assertThat(tasks.failures()).isEmpty();
            ClusterStatistics after = observer.statistics();
            assertThat(after.byExecutor()).hasSize(2);
            assertThat(after.total(ShuffleCounter.SHM_BYTES)).isZero();
            assertThat(after.total(ShuffleCounter.NETTY_BYTES) > 0).isEqualTo(path == ShuffleCounter.NETTY_BYTES);
            assertThat(after.total(path)).isPositive();
            assertThat(after.total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(3L * JOB.maps());
            if (path == ShuffleCounter.NETTY_BYTES) {
                assertCompressed(cluster.spark(), observer);
            }
            observer.assertAllComesBack();
        }
    }

    /** Rows that repeat cross to peers in a fraction of their bytes, once the driver knows that it is over Netty. */
    private static void assertCompressed(SparkSession spark, ShuffleObserver observer) throws InterruptedException {
        ClusterStatistics before = observer.statistics();
        long rows = 200_000;
        Dataset<Row> repeating = spark.range(0, rows, 1, 6)
                .selectExpr("id % 50 AS key", "repeat('a', 100) AS text")
                .repartition(4, functions.col("key"));
        assertThat(repeating
                        .toJavaRDD()
                        .filter(row -> row.getString(1).length() == 100)
                        .count())
                .isEqualTo(rows);
        ClusterStatistics after = observer.statistics();
        long fetched = after.total(ShuffleCounter.NETTY_BYTES) - before.total(ShuffleCounter.NETTY_BYTES);
        // About half of 27 MB bare.
        assertThat(fetched).isBetween(1L, rows * 100 / 8);
    }
}
