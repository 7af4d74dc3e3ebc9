// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.zip.CRC32C;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

/** A map output, and a block of it, that are larger than an {@code int} can count; another executor reads them. */
@Tag("system")
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class LargeBlocksIT {
    private static final int ROW_BYTES = 1 << 20;
    private static final int LARGE_ROWS = 2_100;
    private static final int ROWS = 2_200;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private static List<BlockManagerId> executors() {
        BlockManager driver = SparkEnv.get().blockManager();
        return CollectionConverters.asJava(driver.master().getPeers(driver.blockManagerId()));
    }

    /** Where a task should run: Spark knows a single executor as a place. */
    private static Seq<String> place(BlockManagerId executor) {
        return CollectionConverters.asScala(List.of("executor_" + executor.host() + "_" + executor.executorId()))
                .toSeq();
    }

    /** Elements, a partition each, of tasks that run at one executor. */
    private static JavaRDD<Integer> at(SparkCluster cluster, BlockManagerId executor, int partitions) {
        List<Tuple2<Integer, Seq<String>>> elements = IntStream.range(0, partitions)
                .mapToObj(i -> new Tuple2<>(i, place(executor)))
                .toList();
        return JavaRDD.fromRDD(
                cluster.context()
                        .makeRDD(
                                CollectionConverters.asScala(elements).toSeq(), ClassTag$.MODULE$.apply(Integer.class)),
                ClassTag$.MODULE$.apply(Integer.class));
    }

    private static byte[] row(int number) {
        byte[] row = new byte[ROW_BYTES];
        new Random(number).nextBytes(row);
        return row;
    }

    private static long crc(byte[] row) {
        CRC32C crc = new CRC32C();
        crc.update(row, 0, row.length);
        return crc.getValue();
    }

    private static long crcs(int from, int to) {
        return IntStream.range(from, to).mapToLong(i -> crc(row(i))).sum();
    }

    @ParameterizedTest
    @EnumSource(names = {"AUTO", "NETTY"})
    void moreThanTwoGigabytes(ShuffleMode fabric) throws Exception {
        Map<String, String> conf = pools.conf(
                "spark.shuffle.compress", "false",
                "spark.shuffle.reduceLocality.enabled", "false",
                "spark.locality.wait", "10m",
                "spark.shuffle.rdma.pool.maxSize", "3g");
        try (SparkCluster cluster = SparkCluster.start(2, fabric, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            ShuffleObserver.await("two executors", () -> executors().size() == 2);
            List<BlockManagerId> executors = executors();

            List<Long> sums = at(cluster, executors.get(0), 1)
                    .flatMapToPair(one -> IntStream.range(0, ROWS)
                            .mapToObj(i -> new Tuple2<>(i < LARGE_ROWS ? 0 : 1, row(i)))
                            .iterator())
                    .partitionBy(new HashPartitioner(3))
                    .zipPartitions(at(cluster, executors.get(1), 3), (rows, place) -> {
                        long sum = 0;
                        while (rows.hasNext()) {
                            sum += crc(rows.next()._2());
                        }
                        return LongStream.of(sum).boxed().iterator();
                    })
                    .collect();

            assertThat(sums).containsExactly(crcs(0, LARGE_ROWS), crcs(LARGE_ROWS, ROWS), 0L);
            ClusterStatistics after = observer.statistics();
            ShuffleCounter path = fabric == ShuffleMode.AUTO ? ShuffleCounter.SHM_BYTES : ShuffleCounter.NETTY_BYTES;
            assertThat(after.total(path)).isGreaterThan((long) ROWS * ROW_BYTES);
            assertThat(after.total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(1);
            assertThat(after.total(ShuffleCounter.FILE_BYTES)).isZero();
            observer.assertAllComesBack();
        }
    }
}
