// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of direct shuffles: short memory, requested compression, Spark's metrics. */
@Tag("system")
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class DirectIT {
    private static final int ROWS = 300_000;
    private static final int PARTITIONS = 7;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    /** What all tasks of an application wrote and spilled. */
    private static final class Written extends SparkListener {
        private final SparkContext context;
        private final LongAdder bytes = new LongAdder();
        private final LongAdder records = new LongAdder();
        private final LongAdder spilled = new LongAdder();

        Written(SparkContext context) {
            this.context = context;
            context.addSparkListener(this);
        }

        @Override
        public void onTaskEnd(SparkListenerTaskEnd end) {
            bytes.add(end.taskMetrics().shuffleWriteMetrics().bytesWritten());
            records.add(end.taskMetrics().shuffleWriteMetrics().recordsWritten());
            spilled.add(end.taskMetrics().diskBytesSpilled());
        }

        long of(LongAdder adder) throws Exception {
            context.listenerBus().waitUntilEmpty(20_000);
            return adder.sum();
        }
    }

    private Map<String, String> direct(String... more) {
        Map<String, String> conf = pools.conf(more);
        conf.put("spark.shuffle.rdma.direct.enabled", "true");
        return conf;
    }

    /** Two map tasks, some 15 MB each that compress well. */
    private static List<Row> sums(SparkSession spark) {
        Column text = functions.concat(
                functions.repeat(functions.lit("text"), 20), functions.col("id").mod(10));
        Dataset<Row> rows =
                spark.range(0, ROWS, 1, 2).withColumn("text", text).repartition(PARTITIONS, functions.col("id"));
        // Not sorted by Spark, which would read the sums' shuffle twice.
        return rows
                .groupBy(functions.spark_partition_id().as("partition"))
                .agg(functions.count("id"), functions.sum("id"), functions.max("text"))
                .collectAsList()
                .stream()
                .sorted(Comparator.comparingInt(row -> row.getInt(0)))
                .toList();
    }

    /** Computed without a shuffle: rows go where Spark's hash of their id says. */
    private static List<Row> rightSums() {
        long[] counts = new long[PARTITIONS];
        long[] sums = new long[PARTITIONS];
        for (long id = 0; id < ROWS; id++) {
            int partition = Math.floorMod(Murmur3_x86_32.hashLong(id, 42), PARTITIONS);
            counts[partition]++;
            sums[partition] += id;
        }
        return IntStream.range(0, PARTITIONS)
                .mapToObj(i -> RowFactory.create(i, counts[i], sums[i], "text".repeat(20) + 9))
                .toList();
    }

    /**
     * All kinds of shuffles on a cluster: through Spark's streams, with a pool that is far too small and files or the
     * disk tier behind it, and compressed in the pool, or in the disk tier only. Copied from memory: {@code PathsIT}.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {"2, 1g, JavaSerializer, true, false, 75, true", "2, 8m, KryoSerializer, true, true, 75, always"})
    void resultsAreSortShuffles(String settings) throws Exception {
        runJobs(settings.split(", ", -1));
    }

    @ParameterizedTest
    @Tag("nightly")
    @ValueSource(
            strings = {
                "3, 8m, KryoSerializer, false, true, 75, true",
                "2, 8m, KryoSerializer, true, true, 75, false",
                "2, 8m, KryoSerializer, false, true, 75, always",
                "2, 1g, KryoSerializer, true, true, 0, false"
            })
    void resultsOfMoreSettingsAreSortShuffles(String settings) throws Exception {
        runJobs(settings.split(", ", -1));
    }

    /** Takes executors, pool, serializer, inPlace, direct.enabled, direct.compressAbove, disk tier, in this order. */
    private void runJobs(String[] settings) throws Exception {
        String pool = settings[1];
        String inPlace = settings[3];
        String disk = settings[6];
        Map<String, String> conf = pools.conf(
                "spark.shuffle.rdma.direct.enabled",
                settings[4],
                "spark.shuffle.rdma.direct.compressAbove",
                settings[5],
                "spark.shuffle.rdma.pool.maxSize",
                pool,
                "spark.shuffle.rdma.disk.enabled",
                Boolean.toString(!disk.equals("false")),
                "spark.shuffle.rdma.disk.compress",
                disk.equals("always") ? "always" : "never",
                // A reader may wait for room, a map output must not: a dozen that did would outlast the test.
                "spark.shuffle.rdma.pool.reserveTimeout",
                "1min",
                "spark.shuffle.rdma.fabric.shm.inPlace",
                inPlace,
                "spark.serializer",
                "org.apache.spark.serializer." + settings[2]);
        conf.putAll(ShuffleJobs.settings());
        Map<String, List<String>> expected = ShuffleJobs.expected();
        try (SparkCluster cluster = SparkCluster.start(Integer.parseInt(settings[0]), ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            assertThat(ShuffleJobs.runAll(cluster.spark())).isEqualTo(expected);
            ClusterStatistics after = observer.statistics();
            assertThat(ShuffleObserver.bytesReadByUs(after)).isEqualTo(observer.bytesReadBySpark());
            assertThat(after.total(ShuffleCounter.SHM_BYTES)).isPositive();
            assertThat(after.total(ShuffleCounter.NETTY_BYTES)).isZero();
            assertThat(after.total(ShuffleCounter.FETCH_BATCHES) > 0)
                    .as("copied ahead of tasks")
                    .isEqualTo(inPlace.equals("false"));
            boolean isSmall = pool.equals("8m");
            assertThat(after.total(ShuffleCounter.MAP_OUTPUTS_FILED) > 0).isEqualTo(isSmall && disk.equals("false"));
            assertThat(after.total(ShuffleCounter.MAP_OUTPUTS_ON_DISK) > 0).isEqualTo(isSmall && !disk.equals("false"));
            observer.assertAllComesBack();
        }
    }

    @Test
    void recordsThatMemoryCannotHoldWaitInFiles() throws Exception {
        List<Row> right = rightSums();
        // Spark's tests set memory so; 12 MB are for tasks then.
        Map<String, String> conf = direct("spark.testing.memory", "20971520", "spark.testing.reservedMemory", "0");
        try (SparkSession spark = LocalSpark.start(conf)) {
            ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());
            Written written = new Written(spark.sparkContext());
            assertThat(sums(spark)).isEqualTo(right);
            assertThat(written.of(written.spilled)).isPositive();
            assertThat(written.of(written.bytes))
                    .as("compressed once, on their way into the files")
                    .isLessThan(ROWS * 100L / 2);
            assertThat(observer.statistics().total(ShuffleCounter.MAP_OUTPUTS_FILED))
                    .isZero();
            observer.assertAllComesBack();
        }
    }

    @Test
    void compressionIsThatOfTheUserOrNone() throws Exception {
        List<Row> right = rightSums();
        long bare = bytesWritten(right, direct());
        long asked = bytesWritten(right, direct("spark.shuffle.compress", "true"));
        long sparks = bytesWritten(right, pools.conf("spark.shuffle.rdma.direct.enabled", "false"));
        assertThat(asked).isLessThan(bare / 2);
        // Where memory is short records are compressed, in the pool or in files, unless the user wants none of that.
        assertThat(bytesWritten(
                        right,
                        direct(
                                "spark.shuffle.rdma.direct.compressAbove", "0",
                                "spark.shuffle.rdma.disk.enabled", "false")))
                .isLessThan(bare / 2);
        assertThat(bytesWritten(
                        right,
                        direct(
                                "spark.shuffle.rdma.direct.compressAbove", "0",
                                "spark.shuffle.rdma.disk.enabled", "false",
                                "spark.shuffle.compress", "false")))
                .isEqualTo(bare);
        assertThat(bytesWritten(
                        right,
                        direct("spark.shuffle.rdma.pool.maxSize", "8m", "spark.shuffle.rdma.disk.enabled", "false")))
                .isLessThan(bare / 2);
        assertThat(sparks).isLessThan(bare / 2);
    }

    @Test
    @Tag("nightly")
    void compressionInTheDiskTierIsThatOfTheUserOrNone() throws Exception {
        List<Row> right = rightSums();
        long bare = bytesWritten(right, direct());
        assertThat(bytesWritten(right, onDisk("spark.shuffle.rdma.disk.compress", "never")))
                .isEqualTo(bare);
        assertThat(bytesWritten(right, onDisk("spark.shuffle.rdma.disk.compress", "always")))
                .isLessThan(bare / 2);
        assertThat(bytesWritten(
                        right, onDisk("spark.shuffle.rdma.disk.compress", "always", "spark.shuffle.compress", "false")))
                .isEqualTo(bare);
    }

    private Map<String, String> onDisk(String... more) {
        Map<String, String> conf = direct(more);
        conf.put("spark.shuffle.rdma.pool.maxSize", "8m");
        return conf;
    }

    private static long bytesWritten(List<Row> right, Map<String, String> conf) throws Exception {
        try (SparkSession spark = LocalSpark.start(conf)) {
            ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());
            Written written = new Written(spark.sparkContext());
            assertThat(sums(spark)).isEqualTo(right);
            assertThat(written.of(written.records)).isGreaterThanOrEqualTo(ROWS);
            assertThat(observer.bytesReadBySpark()).isEqualTo(written.of(written.bytes));
            assertThat(ShuffleObserver.bytesReadByUs(observer.statistics())).isEqualTo(observer.bytesReadBySpark());
            return written.of(written.bytes);
        }
    }
}
