package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.shuffle.ShuffleCounter;
import io.rdmashuffle.spark.ClusterStatistics;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** A decommissioned executor's map outputs are read from their new home, and no map task runs again. */
@Tag("system")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class DecommissionIT {
    private static final int MAPS = 12;
    private static final int REDUCES = 7;
    private static final int KEYS = 50;
    private static final int ROWS = 200;
    private static final int ROW_BYTES = 4_000;
    private static final long DEADLINE_SECONDS = 90;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private Map<String, String> conf(String... more) {
        Map<String, String> conf = pools.conf(more);
        conf.put("spark.shuffle.compress", "false");
        conf.put("spark.decommission.enabled", "true");
        conf.put("spark.storage.decommission.enabled", "true");
        conf.put("spark.storage.decommission.shuffleBlocks.enabled", "true");
        conf.put("spark.storage.decommission.rddBlocks.enabled", "false");
        conf.put("spark.storage.decommission.replicationReattemptInterval", "1s");
        return conf;
    }

    /** 12 map outputs of about 800 KB. */
    private static JavaPairRDD<Integer, Iterable<byte[]>> grouped(SparkSession spark) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        List<Integer> seeds = IntStream.range(0, MAPS).boxed().toList();
        return context.parallelize(seeds, MAPS)
                .flatMapToPair(seed -> {
                    Random random = new Random(seed);
                    return IntStream.range(0, ROWS)
                            .mapToObj(row -> {
                                byte[] bytes = new byte[ROW_BYTES];
                                random.nextBytes(bytes);
                                return new Tuple2<>(row % KEYS, bytes);
                            })
                            .iterator();
                })
                .groupByKey(REDUCES);
    }

    private static Map<Integer, Long> sums(JavaPairRDD<Integer, Iterable<byte[]>> grouped) {
        return new HashMap<>(grouped.mapValues(rows -> {
                    long sum = 0;
                    for (byte[] row : rows) {
                        for (byte b : row) {
                            sum = sum + b * 31L + 1;
                        }
                    }
                    return sum;
                })
                .collectAsMap());
    }

    /** What one round showed: the counters of those who stayed, before and after they read. */
    private record Round(int outputsMoved, ClusterStatistics before, ClusterStatistics after) {
        long read(ShuffleCounter path) {
            return after.total(path) - before.total(path);
        }
    }

    /** Runs a job, sends away the executor with most map outputs, runs the job's reduce stage again. */
    private static Round round(SparkCluster cluster) throws Exception {
        ShuffleObserver observer = new ShuffleObserver(cluster.spark().sparkContext());
        TaskRecorder tasks = new TaskRecorder(cluster.spark().sparkContext());
        JavaPairRDD<Integer, Iterable<byte[]>> grouped = grouped(cluster.spark());
        Map<Integer, Long> expected = sums(grouped);
        assertThat(tasks.mapTasks()).isEqualTo(MAPS);

        Map<String, Long> outputs = outputsByExecutor();
        String leaver = Collections.max(outputs.entrySet(), Map.Entry.comparingByValue())
                .getKey();
        decommission(cluster, leaver);
        tasks.awaitRemoval(leaver, DEADLINE_SECONDS);
        assertThat(outputsByExecutor()).doesNotContainKey(leaver);
        cluster.awaitExecutors(outputs.size());

        ClusterStatistics before = observer.statistics();
        assertThat(sums(grouped)).isEqualTo(expected);
        assertThat(tasks.mapTasks())
                .as("map tasks, those of the first run included")
                .isEqualTo(MAPS);
        assertThat(tasks.failures()).isEmpty();
        ClusterStatistics after = observer.statistics();

        observer.assertAllComesBack();
        return new Round(Math.toIntExact(Objects.requireNonNull(outputs.get(leaver))), before, after);
    }

    private static void decommission(SparkCluster cluster, String executorId) {
        CoarseGrainedSchedulerBackend backend =
                (CoarseGrainedSchedulerBackend) cluster.spark().sparkContext().schedulerBackend();
        boolean accepted = backend.decommissionExecutor(
                executorId, new ExecutorDecommissionInfo("test", Option.empty()), false, false);
        assertThat(accepted).isTrue();
    }

    /** Where the driver says that the only shuffle's map outputs are. */
    private static Map<String, Long> outputsByExecutor() {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        List<MapStatus> statuses = CollectionConverters.asJava(
                        tracker.shuffleStatuses().values().toList())
                .stream()
                .flatMap(shuffle -> List.of(shuffle.mapStatuses()).stream())
                .toList();
        assertThat(statuses).hasSize(MAPS).doesNotContainNull();
        return statuses.stream()
                .map(status -> status.location().executorId())
                .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    }

    @Test
    void outputsMoveToOtherPoolsAndAreReadThereOneSidedly() throws Exception {
        try (SparkCluster cluster = SparkCluster.start(3, FabricMode.AUTO, conf())) {
            Round round = round(cluster);
            assertThat(round.before().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                    .isEqualTo(round.outputsMoved());
            assertThat(round.read(ShuffleCounter.SHM_BYTES)).isPositive();
            assertThat(round.read(ShuffleCounter.NETTY_BYTES)).isZero();
            assertThat(round.read(ShuffleCounter.FILE_BYTES)).isZero();
        }
    }

    /** A pool holds five outputs at most, so two hold fewer than the twelve there are, wherever those were written. */
    @Test
    void outputsThatFindNoRoomMoveToFiles() throws Exception {
        Map<String, String> conf = conf(
                "spark.shuffle.rdma.pool.maxSize", "4608k",
                "spark.shuffle.rdma.pool.initialSize", "4608k",
                "spark.shuffle.rdma.pool.chunkSize", "64k",
                "spark.shuffle.rdma.directory.maxShuffles", "64");
        try (SparkCluster cluster = SparkCluster.start(3, FabricMode.AUTO, conf)) {
            Round round = round(cluster);
            assertThat(round.before().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                    .isEqualTo(round.outputsMoved());
            assertThat(round.read(ShuffleCounter.FILE_BYTES)).isPositive();
            assertThat(round.read(ShuffleCounter.SHM_BYTES)).isPositive();
            assertThat(round.read(ShuffleCounter.NETTY_BYTES)).isZero();
        }
    }

    @Test
    void encryptedOutputsMoveAsTheyAreAndAreReadOverNetty() throws Exception {
        Map<String, String> conf = conf(
                "spark.io.encryption.enabled", "true",
                "spark.authenticate", "true",
                "spark.authenticate.secret", "for this test",
                "spark.network.crypto.enabled", "true");
        try (SparkCluster cluster = SparkCluster.start(2, FabricMode.NETTY, conf)) {
            Round round = round(cluster);
            assertThat(round.before().total(ShuffleCounter.MAP_OUTPUTS_MIGRATED))
                    .isEqualTo(round.outputsMoved());
            assertThat(round.read(ShuffleCounter.FILE_BYTES)).isZero();
        }
    }

    /** What Spark asks the resolver for when it decommissions, removes and skips shuffles. */
    @Test
    void sparkIsToldWhatIsInThePool() throws Exception {
        try (SparkSession spark = LocalSpark.start(conf())) {
            ShuffleObserver observer = new ShuffleObserver(spark.sparkContext());
            JavaPairRDD<Integer, Iterable<byte[]>> grouped = grouped(spark);
            Map<Integer, Long> expected = sums(grouped);
            IndexShuffleBlockResolver resolver =
                    (IndexShuffleBlockResolver) SparkEnv.get().shuffleManager().shuffleBlockResolver();
            List<ShuffleBlockInfo> stored = CollectionConverters.asJava(resolver.getStoredShuffles());
            assertThat(stored).hasSize(MAPS).doesNotHaveDuplicates();
            for (ShuffleBlockInfo output : stored) {
                assertThat(resolver.getMigrationBlocks(output).size()).isEqualTo(2);
                assertThat(resolver.getBlocksForShuffle(output.shuffleId(), output.mapId())
                                .size())
                        .isEqualTo(2);
            }
            assertThat(sums(grouped)).isEqualTo(expected);

            resolver.addShuffleToSkip(stored.get(0).shuffleId());
            assertThat(resolver.getStoredShuffles().isEmpty()).isTrue();
            observer.dropAllShuffles();
            assertThat(resolver.getMigrationBlocks(stored.get(0)).isEmpty()).isTrue();
            assertThat(observer.statistics().total(ShuffleCounter.POOL_LEASES)).isZero();
        }
    }

    /** There is nobody else, so the outputs go to Spark's fallback storage, which knows files only. */
    @Test
    void outputsOfTheLastExecutorMoveToTheFallbackStorage(@TempDir Path fallback) throws Exception {
        Map<String, String> conf = conf(
                "spark.storage.decommission.fallbackStorage.path",
                fallback.toUri().toString());
        try (SparkCluster cluster = SparkCluster.start(1, FabricMode.AUTO, conf)) {
            Round round = round(cluster);
            assertThat(round.outputsMoved()).isEqualTo(MAPS);
            assertThat(round.read(ShuffleCounter.LOCAL_BYTES)).isZero();
        }
    }
}
