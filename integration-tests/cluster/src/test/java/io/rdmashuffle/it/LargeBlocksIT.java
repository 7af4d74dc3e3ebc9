// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.zip.CRC32C;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import scala.Tuple2;

/** A map output, and a block of it, that are larger than an {@code int} can count; another executor reads them. */
@Tag("system")
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class LargeBlocksIT {
    private static final int ROW_BYTES = 1 << 20;
    private static final int LARGE_ROWS = 2_100;
    private static final int ROWS = 2_200;

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

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
    @ShuffleKinds({ShuffleKind.IN_PLACE, ShuffleKind.COPIED, ShuffleKind.OVER_TCP, ShuffleKind.ON_DISK})
    void moreThanTwoGigabytes(ShuffleKind kind) throws Exception {
        Map<String, String> conf = pools.conf(
                "spark.shuffle.reduceLocality.enabled", "false",
                "spark.locality.wait", "10m",
                "spark.shuffle.rdma.pool.maxSize", kind == ShuffleKind.ON_DISK ? "64m" : "3g");
        try (SparkCluster cluster = SparkCluster.start(2, kind.fabric(), kind.conf(conf))) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            List<BlockManagerId> executors = Placement.awaitExecutors(2);

            JavaPairRDD<Integer, byte[]> rows = Placement.at(cluster, executors.get(0), 1)
                    .flatMapToPair(one -> IntStream.range(0, ROWS)
                            .mapToObj(i -> new Tuple2<>(i < LARGE_ROWS ? 0 : 1, row(i)))
                            .iterator());
            List<Long> sums = GroupedBytes.byKey(cluster.spark(), kind, rows, 3)
                    .zipPartitions(Placement.at(cluster, executors.get(1), 3), (read, place) -> {
                        long sum = 0;
                        while (read.hasNext()) {
                            sum += crc(read.next()._2());
                        }
                        return LongStream.of(sum).boxed().iterator();
                    })
                    .collect();

            assertThat(sums).containsExactly(crcs(0, LARGE_ROWS), crcs(LARGE_ROWS, ROWS), 0L);
            ClusterStatistics after = observer.statistics();
            // Spark's block transfer fetches a copied block that is too large for memory to a file.
            long overNetty = after.total(ShuffleCounter.NETTY_BYTES);
            assertThat(overNetty > 0).isEqualTo(kind == ShuffleKind.COPIED || kind == ShuffleKind.OVER_TCP);
            assertThat(after.total(kind.bytesOfPeers()) + overNetty).isGreaterThan((long) ROWS * ROW_BYTES);
            assertThat(after.total(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(1);
            assertThat(after.total(ShuffleCounter.FILE_BYTES)).isZero();
            if (kind == ShuffleKind.ON_DISK) {
                assertThat(after.total(ShuffleCounter.DISK_READ_BYTES)).isGreaterThan((long) LARGE_ROWS * ROW_BYTES);
            }
            observer.assertAllComesBack();
        }
    }
}
