// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleObserver;
import io.rdmashuffle.it.faults.KindCluster.Watched;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests for every Spark version ({@code bin/matrix}), in few applications that use calls which differ between versions.
 */
@Tag("system")
@Tag("line")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class SparkLineIT {
    private static final int EXECUTORS = 3;
    private static final GroupedBytes JOB = new GroupedBytes(9, 6, 0);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();
    private static final long DEADLINE_SECONDS = 90;
    private static final int ROWS = 30_000;
    private static final int GROUPS = 300;

    @TempDir
    Path local;

    /** Checksums of rows, sizes by which adaptive execution goes, migration, and a stage that runs again. */
    @Test
    @Tag("smoke")
    void jobsMigrationAndALostExecutor() throws Exception {
        runJobsMigrateAndLose(ShuffleKind.IN_PLACE);
    }

    @Test
    @Tag("nightly")
    void jobsMigrationAndALostExecutorCopied() throws Exception {
        runJobsMigrateAndLose(ShuffleKind.COPIED);
    }

    @Test
    @Tag("nightly")
    void jobsMigrationAndALostExecutorOverTcp() throws Exception {
        runJobsMigrateAndLose(ShuffleKind.OVER_TCP);
    }

    private void runJobsMigrateAndLose(ShuffleKind kind) throws Exception {
        Map<String, String> conf = Map.of(
                "spark.shuffle.rdma.outlive.enabled", "false",
                "spark.sql.autoBroadcastJoinThreshold", "-1",
                "spark.sql.shuffle.orderIndependentChecksum.enabled", "true",
                "spark.decommission.enabled", "true",
                "spark.storage.decommission.enabled", "true",
                "spark.storage.decommission.shuffleBlocks.enabled", "true",
                "spark.storage.decommission.rddBlocks.enabled", "false",
                "spark.storage.decommission.replicationReattemptInterval", "1s");
        try (KindCluster cluster = KindCluster.start(kind, EXECUTORS, local, conf)) {
            assertJoinIsRight(cluster.spark().spark());
            forgetWhatRan(cluster.spark());
            Watched watched = cluster.watch();
            JavaPairRDD<Integer, Long> held = watched.prepare(JOB);
            assertThat(GroupedBytes.sums(held)).isEqualTo(EXPECTED);
            assertThat(watched.tasks().failures()).isEmpty();

            migrate(cluster.spark(), watched);
            assertThat(GroupedBytes.sums(held)).isEqualTo(EXPECTED);
            assertThat(watched.tasks().mapTasks()).as("of the first run alone").isEqualTo(JOB.maps());

            String victim = watched.observer().executorWithMostOutputs();
            kill(cluster.spark(), victim);
            // Until then tasks may read its outputs: its memory is still mapped.
            watched.tasks().awaitRemoval(victim, DEADLINE_SECONDS);
            assertThat(GroupedBytes.sums(held)).isEqualTo(EXPECTED);
            assertThat(watched.tasks().mapTasks())
                    .as("repeated tasks of lost outputs")
                    .isGreaterThan(JOB.maps());
            watched.assertReadSoAndAllComesBack();
        }
    }

    /** Spark's own files as the last resort, and no plain record in pool or files. */
    @Test
    void encryptedWithAPoolAndADiskThatAreFull() throws Exception {
        Map<String, String> conf = Map.of(
                "spark.io.encryption.enabled", "true",
                "spark.authenticate", "true",
                "spark.authenticate.secret", "for this test",
                "spark.shuffle.rdma.pool.maxSize", "2m",
                "spark.shuffle.rdma.directory.maxShuffles", "64",
                "spark.shuffle.rdma.disk.enabled", "false");
        try (KindCluster cluster = KindCluster.start(ShuffleKind.STREAMS, 2, local, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().context());
            JavaPairRDD<Integer, Long> held = JOB.prepare(cluster.spark().spark(), ShuffleKind.STREAMS);
            assertThat(GroupedBytes.sums(held)).isEqualTo(EXPECTED);
            ClusterStatistics statistics = observer.statistics();
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isPositive();
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_FILED)).isPositive();
            assertThat(StoredRecords.count(cluster.pools().path(), local, JOB)).isZero();
            observer.assertAllComesBack();
        }
    }

    /** A join and an aggregation whose result is known without them. */
    private static void assertJoinIsRight(SparkSession spark) {
        Dataset<Row> keys = spark.range(0, ROWS, 1, 4)
                .toDF()
                .withColumn("key", functions.col("id").mod(GROUPS));
        Dataset<Row> names = spark.range(0, GROUPS, 1, 2).toDF().withColumnRenamed("id", "key");
        List<Row> sums = keys.join(names, "key")
                .groupBy("key")
                .agg(functions.count("id"), functions.sum("id"))
                .orderBy("key")
                .collectAsList();
        long each = ROWS / GROUPS;
        assertThat(sums).hasSize(GROUPS);
        for (int key = 0; key < GROUPS; key++) {
            // key, key + 300, key + 600 ...
            long sum = each * key + GROUPS * each * (each - 1) / 2;
            assertThat(sums.get(key)).isEqualTo(RowFactory.create((long) key, each, sum));
        }
    }

    /** Outputs of earlier shuffles would be migrated as well, or dropped meanwhile, and their tasks counted. */
    private static void forgetWhatRan(SparkCluster cluster) throws Exception {
        new ShuffleObserver(cluster.context()).assertAllComesBack();
        cluster.context().listenerBus().waitUntilEmpty(TimeUnit.SECONDS.toMillis(DEADLINE_SECONDS));
    }

    private static void migrate(SparkCluster cluster, Watched watched) throws Exception {
        ShuffleObserver observer = watched.observer();
        String leaver = observer.executorWithMostOutputs();
        long had = Objects.requireNonNull(observer.outputsByExecutor().get(leaver));
        cluster.decommission(leaver);
        watched.tasks().awaitRemoval(leaver, DEADLINE_SECONDS);
        cluster.awaitExecutors(EXECUTORS);
        assertThat(observer.outputsByExecutor()).doesNotContainKey(leaver);
        assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                .isEqualTo(had);
    }

    private static void kill(SparkCluster cluster, String executor) throws Exception {
        ProcessHandle victim = cluster.executorProcess(executor);
        assertThat(victim.destroyForcibly()).isTrue();
        victim.onExit().get(30, TimeUnit.SECONDS);
    }
}
