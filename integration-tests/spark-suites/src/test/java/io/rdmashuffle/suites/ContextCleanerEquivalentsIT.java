// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import scala.Tuple2;

/**
 * The four cleanings of shuffles in Spark's {@code ContextCleanerSuite}, on the pool instead of the block manager's
 * files.
 */
@Tag("system")
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class ContextCleanerEquivalentsIT {
    private static final int PAIRS = 40;
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private JavaSparkContext local() {
        SparkConf conf = new SparkConf(false)
                .setMaster("local[2]")
                .setAppName("test")
                .set("spark.ui.enabled", "false")
                .set("spark.cleaner.referenceTracking.blocking", "true")
                .set("spark.cleaner.referenceTracking.blocking.shuffle", "true");
        ShuffleMode.AUTO.conf().forEach(conf::set);
        pools.conf().forEach(conf::set);
        return new JavaSparkContext(conf);
    }

    private static JavaPairRDD<Integer, Integer> shuffled(JavaRDD<Integer> numbers) {
        return numbers.mapToPair(i -> new Tuple2<>(i, i)).partitionBy(new HashPartitioner(4));
    }

    private static JavaRDD<Integer> numbers(JavaSparkContext context) {
        return context.parallelize(IntStream.range(0, PAIRS).boxed().toList(), 3);
    }

    private static ClusterStatistics statistics() {
        return ((RdmaShuffleManager) SparkEnv.get().shuffleManager()).statistics(Duration.ofSeconds(20));
    }

    private static void assertPooled() {
        assertThat(statistics().total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isPositive();
        assertThat(statistics().total(ShuffleCounter.POOL_LEASES)).isPositive();
    }

    /** Waits until Spark's cleaner has emptied the pools, with a garbage collection now and then. */
    private static void awaitEmptyPools() throws InterruptedException {
        long deadline = System.nanoTime() + DEADLINE.toNanos();
        while (statistics().total(ShuffleCounter.POOL_LEASES) > 0 && System.nanoTime() - deadline < 0) {
            System.gc();
            Thread.sleep(50);
        }
        assertThat(statistics().total(ShuffleCounter.POOL_LEASES)).isZero();
        assertThat(statistics().total(ShuffleCounter.POOL_USED_BYTES)).isZero();
    }

    @Test
    void removesPoolOutputsOfARemovedShuffle() {
        try (JavaSparkContext context = local()) {
            JavaPairRDD<Integer, Integer> pairs = shuffled(numbers(context));
            assertThat(pairs.count()).isEqualTo(PAIRS);
            assertPooled();

            context.sc().cleaner().get().doCleanupShuffle(0, true);

            assertThat(statistics().total(ShuffleCounter.POOL_LEASES)).isZero();
            assertThat(pairs.count()).isEqualTo(PAIRS);
        }
    }

    @Test
    void removesPoolOutputsOfAnUnreachableShuffle() throws InterruptedException {
        try (JavaSparkContext context = local()) {
            assertThat(shuffled(numbers(context)).count()).isEqualTo(PAIRS);
            assertPooled();

            awaitEmptyPools();
        }
    }

    @Test
    void removesPoolOutputsBesideRddsAndBroadcasts() throws InterruptedException {
        try (JavaSparkContext context = local()) {
            useAllThree(context);
            assertPooled();

            awaitEmptyPools();
        }
    }

    @Test
    void removesPoolOutputsOfAllExecutors() throws InterruptedException {
        Map<String, String> conf = pools.conf("spark.cleaner.referenceTracking.blocking.shuffle", "true");
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, conf)) {
            useAllThree(JavaSparkContext.fromSparkContext(cluster.context()));
            assertPooled();
            assertThat(statistics().byExecutor()).hasSize(2);

            awaitEmptyPools();
        }
    }

    private static void useAllThree(JavaSparkContext context) {
        Broadcast<List<Integer>> broadcast = context.broadcast(List.of(1));
        JavaRDD<Integer> cached =
                numbers(context).map(i -> i * broadcast.value().get(0)).cache();
        assertThat(shuffled(cached).count()).isEqualTo(PAIRS);
    }
}
