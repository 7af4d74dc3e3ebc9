// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Tuple2;

/** Tests from start to stop: registrations, remains of killed executors, refused settings. */
@Tag("system")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class LifecycleIT {
    private static final int MAPS = 400;
    private static final int KEYS = 10_000;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private static JavaPairRDD<Long, Iterable<Long>> grouped(SparkSession spark, int maps, int partitions) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        return context.parallelize(Collections.nCopies(maps, 1), maps)
                .flatMapToPair(one -> LongStream.range(0, KEYS / 10)
                        .mapToObj(i -> new Tuple2<>(i * 10 % KEYS, i))
                        .iterator())
                .groupByKey(partitions);
    }

    private static List<String> summary(JavaPairRDD<Long, Iterable<Long>> grouped) {
        return grouped
                .mapValues(values -> {
                    long sum = 0;
                    for (long value : values) {
                        sum += value;
                    }
                    return sum;
                })
                .map(pair -> pair._1() + "=" + pair._2())
                .collect()
                .stream()
                .sorted()
                .toList();
    }

    private static List<String> expectedSummary(int maps) {
        return LongStream.range(0, KEYS / 10)
                .mapToObj(i -> i * 10 % KEYS + "=" + i * maps)
                .sorted()
                .toList();
    }

    @Test
    void registrationsAndMessagesDoNotGrowWithMapOutputs() {
        Map<String, String> conf = pools.conf(
                "spark.shuffle.rdma.pool.regionSize", "64m",
                "spark.shuffle.rdma.pool.initialSize", "64m",
                "spark.shuffle.rdma.pool.maxSize", "256m");
        try (SparkCluster cluster = SparkCluster.start(3, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());

            assertThat(summary(grouped(cluster.spark(), MAPS, MAPS))).isEqualTo(expectedSummary(MAPS));

            ClusterStatistics statistics = observer.statistics();
            assertThat(statistics.total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(MAPS);
            assertThat(statistics.total(ShuffleCounter.SHM_BYTES)).isPositive();
            assertThat(statistics.total(ShuffleCounter.NETTY_BYTES)).isZero();
            assertThat(statistics.byExecutor().values())
                    .hasSize(3)
                    .allSatisfy(counters -> assertThat(counters.get(ShuffleCounter.REGION_REGISTRATIONS))
                            .isBetween(1L, 4L));
            // One announcement each; a second when a push was overtaken by the answer to an announcement.
            assertThat(statistics.registryMessages()).isBetween(3L, 6L);
        }
    }

    @Test
    void killedExecutorCostsNeitherResultsNorFiles() throws Exception {
        Map<String, String> conf = pools.conf("spark.shuffle.rdma.outlive.enabled", "false");
        try (SparkCluster cluster = SparkCluster.start(3, ShuffleMode.AUTO, conf)) {
            JavaPairRDD<Long, Iterable<Long>> grouped = grouped(cluster.spark(), 12, 12);
            assertThat(summary(grouped)).isEqualTo(expectedSummary(12));
            List<Path> before = pools.files();
            assertThat(before).hasSize(3);

            ProcessHandle victim = cluster.executorProcesses().get(0);
            assertThat(victim.destroyForcibly()).isTrue();
            victim.onExit().get(30, TimeUnit.SECONDS);

            // The map stage is skipped, so its lost outputs are missed by readers and computed again.
            assertThat(summary(grouped)).isEqualTo(expectedSummary(12));
            // The replacement removes what the victim left when it makes a pool of its own.
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(90);
            while (!isReplaced(before) && System.nanoTime() - deadline < 0) {
                Thread.sleep(100);
            }
            assertThat(pools.files()).hasSize(3).isNotEqualTo(before);
            assertThat(summary(grouped(cluster.spark(), 12, 12))).isEqualTo(expectedSummary(12));
        }
    }

    /**
     * Spark removes the shuffles of a query at its end and writes them again, under the same ids, for the next action.
     * It does not wait for the removal, which takes the new outputs with it if they come first: so the test waits.
     */
    @Test
    void aShuffleThatSparkRemovedIsWrittenAgain() throws Exception {
        Map<String, String> conf = pools.conf("spark.sql.classic.shuffleDependency.fileCleanup.enabled", "true");
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
            Dataset<Row> counts = cluster.spark()
                    .range(0, 100_000, 1, 4)
                    .groupBy(functions.col("id").mod(100).as("key"))
                    .count();
            for (int action = 0; action < 3; action++) {
                assertThat(counts.collectAsList()).hasSize(100).allMatch(row -> row.getLong(1) == 1_000);
                observer.awaitRemoval();
            }
            assertThat(observer.statistics().total(ShuffleCounter.FILE_BYTES)).isZero();
        }
    }

    private boolean isReplaced(List<Path> before) {
        List<Path> now = pools.files();
        return now.size() == 3 && !now.containsAll(before);
    }

    @Test
    void localModeTwiceInOneVirtualMachine() throws Exception {
        for (int round = 0; round < 2; round++) {
            try (SparkSession spark = LocalSpark.start(pools.conf())) {
                ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());
                assertThat(summary(grouped(spark, 6, 5))).isEqualTo(expectedSummary(6));
                ClusterStatistics statistics = observer.statistics();
                assertThat(statistics.total(ShuffleCounter.LOCAL_BYTES)).isPositive();
                assertThat(statistics.total(ShuffleCounter.FILE_BYTES)).isZero();
                observer.dropAllShuffles();
                assertThat(observer.statistics().total(ShuffleCounter.POOL_USED_BYTES))
                        .isZero();
                assertThat(observer.statistics().total(ShuffleCounter.POOL_LEASES))
                        .isZero();
            }
            assertThat(pools.files()).isEmpty();
        }
    }

    /** With a real external service: {@link StandaloneIT}. */
    @ParameterizedTest
    @CsvSource({
        "spark.shuffle.useOldFetchProtocol, true",
        "spark.shuffle.service.enabled, true",
        "spark.shuffle.push.enabled, true",
        "spark.shuffle.sort.io.plugin.class, org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO"
    })
    void conflictingSettingFallsBackToSortShuffle(String key, String value) throws Exception {
        try (SparkSession spark = LocalSpark.start(pools.conf(key, value))) {
            assertThat(summary(grouped(spark, 6, 5))).isEqualTo(expectedSummary(6));
            assertThat(pools.files()).isEmpty();
        }
    }

    @Test
    void indexTooLargeForThePoolUsesFiles() throws Exception {
        Map<String, String> conf =
                pools.conf("spark.shuffle.rdma.pool.maxSize", "1m", "spark.shuffle.rdma.directory.maxShuffles", "64");
        try (SparkSession spark = LocalSpark.start(conf)) {
            ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());
            assertThat(summary(grouped(spark, 2, 30_000).coalesce(4))).isEqualTo(expectedSummary(2));
            assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_FILED))
                    .isEqualTo(2);
            assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED))
                    .isZero();
        }
    }

    @Test
    void hostsThatCannotHoldThePoolStartWithWhatTheyHave() throws Exception {
        try (SparkSession spark = LocalSpark.start(pools.conf("spark.shuffle.rdma.pool.maxSize", "9t"))) {
            ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());
            assertThat(summary(grouped(spark, 6, 5))).isEqualTo(expectedSummary(6));
            assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED))
                    .isEqualTo(6);
        }
        String nowhere = pools.path().resolve("none").toString();
        Map<String, String> noPool = Map.of("spark.shuffle.rdma.pool.directory", nowhere);
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, noPool)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
            assertThat(summary(grouped(cluster.spark(), 6, 5))).isEqualTo(expectedSummary(6));
            assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_FILED))
                    .isEqualTo(6);
        }
    }

    @Test
    void badSettingsAreRefusedAtStartByName() {
        assertThatThrownBy(() -> LocalSpark.start(pools.conf("spark.shuffle.rdma.pool.maxSize", "12k"))
                        .close())
                .rootCause()
                .hasMessageContaining("spark.shuffle.rdma.pool.maxSize=12k")
                .hasMessageContaining("1m");
        assertThatThrownBy(() -> LocalSpark.start(pools.conf("spark.shuffle.rdma.pool.maxsize", "1g"))
                        .close())
                .rootCause()
                .hasMessageContaining("spark.shuffle.rdma.pool.maxSize");
        Map<String, String> tooMuch =
                pools.conf("spark.shuffle.rdma.pool.maxSize", "9t", "spark.shuffle.rdma.pool.onShortage", "fail");
        assertThatThrownBy(() -> LocalSpark.start(tooMuch).close())
                .rootCause()
                .hasMessageContaining("MiB free in " + pools.path())
                .hasMessageContaining("--shm-size");
    }
}
