// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.harness.spark.SparkCalls;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/** What applications do with shuffles beside batch jobs that read them to their end. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class ScenariosIT {
    private static final int BATCHES = 50;
    private static final int ROWS = 20_000;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    /** Each batch has a shuffle, state on either side of it, and nothing of the batches before. */
    @Tag("long")
    @ParameterizedTest
    @ShuffleKinds(ShuffleKind.IN_PLACE)
    void fiftyBatchesOfAStreamWithState(ShuffleKind kind, @TempDir Path folder) throws Exception {
        Map<String, String> conf = kind.conf(pools.conf("spark.sql.shuffle.partitions", "3"));
        try (SparkCluster cluster = SparkCluster.start(2, kind.fabric(), conf)) {
            SparkSession spark = cluster.spark();
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            Dataset<Row> rows = spark.range(0, ROWS, 1, BATCHES)
                    .withColumn("key", functions.col("id").mod(100))
                    .toDF();
            rows.write().parquet(folder.resolve("rows").toString());
            spark.conf()
                    .set(
                            "spark.sql.streaming.checkpointLocation",
                            folder.resolve("checkpoint").toString());
            StreamingQuery query = spark.readStream()
                    .schema(rows.schema())
                    .option("maxFilesPerTrigger", 1)
                    .parquet(folder.resolve("rows").toString())
                    .groupBy("key")
                    .agg(functions.count("id").as("count"), functions.sum("id").as("sum"))
                    .writeStream()
                    .outputMode("complete")
                    .format("memory")
                    .queryName("sums")
                    .trigger(Trigger.AvailableNow())
                    .start();
            assertThat(query.awaitTermination(TimeUnit.MINUTES.toMillis(4))).isTrue();
            assertThat(query.recentProgress().length).isGreaterThanOrEqualTo(BATCHES);
            Map<Long, List<Long>> sums = spark.table("sums").collectAsList().stream()
                    .collect(Collectors.toMap(row -> row.getLong(0), row -> List.of(row.getLong(1), row.getLong(2))));
            assertThat(sums).hasSize(100);
            sums.forEach((key, sum) -> assertThat(sum)
                    .containsExactly(
                            (long) ROWS / 100,
                            IntStream.range(0, ROWS / 100)
                                    .mapToLong(i -> key + 100L * i)
                                    .sum()));
            ClusterStatistics after = observer.statistics();
            assertThat(after.total(ShuffleCounter.DIRECT_BYTES)).isPositive();
            assertThat(after.total(ShuffleCounter.FETCH_BATCHES) > 0).isEqualTo(kind == ShuffleKind.COPIED);
            observer.assertAllComesBack();
        }
    }

    /** A thread of the pipe's own reads the shuffle, and may do so after the task has ended. */
    @ParameterizedTest
    @ShuffleKinds({ShuffleKind.COPIED, ShuffleKind.STREAMS})
    void aShuffleIsReadByThePipeOfAnotherProgram(ShuffleKind kind) throws Exception {
        try (SparkCluster cluster = SparkCluster.start(2, kind.fabric(), kind.conf(pools.conf()))) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            JavaRDD<String> lines = shuffled(cluster, kind)
                    .map(record -> record._1() + " " + record._2().length)
                    .pipe("cat");
            assertThat(lines.collect()).hasSize(ROWS).contains("0 8", (ROWS - 1) + " 8");
            // The task ends while that thread still reads.
            List<String> firsts = shuffled(cluster, kind)
                    .map(record -> record._1() + " " + "x".repeat(2_000))
                    .pipe("cat")
                    .mapPartitions(piped -> List.of(piped.next()).iterator())
                    .collect();
            assertThat(firsts).hasSize(6);
            assertThat(tasks.failures()).isEmpty();
            observer.assertAllComesBack();
        }
    }

    /** Unneeded prefetches are released with their task. */
    @ParameterizedTest
    @ShuffleKinds({ShuffleKind.IN_PLACE, ShuffleKind.COPIED})
    void aFewRecordsOfEachPartitionAreEnough(ShuffleKind kind) throws Exception {
        Map<String, String> conf = kind.conf(pools.conf("spark.reducer.maxSizeInFlight", "256k"));
        try (SparkCluster cluster = SparkCluster.start(2, kind.fabric(), conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            GroupedBytes wide = new GroupedBytes(8, 4, 0);
            for (int round = 0; round < 5; round++) {
                List<Integer> firsts = wide.records(cluster.spark(), kind)
                        .mapPartitions(read -> List.of(read.next()._1()).iterator())
                        .collect();
                assertThat(firsts).hasSize(4);
            }
            assertThat(cluster.spark()
                            .range(0, 1_000_000, 1, 4)
                            .repartition(4)
                            .limit(10)
                            .collectAsList())
                    .hasSize(10);
            observer.assertAllComesBack();
        }
    }

    /**
     * Idle executors end, executors with needed outputs stay; the outputs of ended ones are written again, or outlive
     * them.
     */
    @Tag("long")
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void executorsComeAndGoWithTheWork(boolean outlive) throws Exception {
        ShuffleKind kind = ShuffleKind.IN_PLACE;
        Map<String, String> conf = new HashMap<>(Map.of(
                "spark.master", "local-cluster[3,1,1024]",
                "spark.dynamicAllocation.enabled", "true",
                "spark.dynamicAllocation.shuffleTracking.enabled", "true",
                "spark.dynamicAllocation.shuffleTracking.timeout", "5s",
                "spark.dynamicAllocation.executorIdleTimeout", "2s",
                "spark.dynamicAllocation.minExecutors", "1",
                "spark.dynamicAllocation.initialExecutors", "3",
                "spark.dynamicAllocation.maxExecutors", "3"));
        conf.put("spark.shuffle.rdma.outlive.enabled", Boolean.toString(outlive));
        conf.putAll(pools.conf());
        GroupedBytes job = new GroupedBytes(12, 6, 1);
        try (SparkCluster cluster = SparkCluster.start(1, kind.fabric(), kind.conf(conf))) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            TaskRecorder tasks = new TaskRecorder(cluster.context());
            JavaPairRDD<Integer, Long> held = job.prepare(cluster.spark(), kind);
            assertThat(GroupedBytes.sums(held)).isEqualTo(job.expected());
            // With shuffle tracking an executor with outputs goes later than one without.
            ShuffleObserver.await("two executors go", () -> executorIds(cluster).size() == 1);
            assertThat(GroupedBytes.sums(held)).isEqualTo(job.expected());
            if (outlive) {
                assertThat(tasks.failures()).isEmpty();
                assertThat(tasks.mapTasks()).as("none is run again").isEqualTo(job.maps());
            }
            ShuffleObserver.await("others come", () -> {
                assertThat(GroupedBytes.sums(held)).isEqualTo(job.expected());
                return executorIds(cluster).size() > 1;
            });
            assertThat(tasks.removed()).hasSizeGreaterThanOrEqualTo(2);
            observer.assertAllComesBack();
        }
    }

    private static Set<String> executorIds(SparkCluster cluster) {
        return Set.copyOf(SparkCalls.<String>list(cluster.context(), "getExecutorIds"));
    }

    private static JavaPairRDD<Integer, byte[]> shuffled(SparkCluster cluster, ShuffleKind kind) {
        JavaPairRDD<Integer, byte[]> records = JavaSparkContext.fromSparkContext(cluster.context())
                .parallelize(IntStream.range(0, ROWS).boxed().toList(), 4)
                .mapToPair(i -> new Tuple2<>(i, new byte[8]));
        return GroupedBytes.byKey(cluster.spark(), kind, records, 6);
    }
}
