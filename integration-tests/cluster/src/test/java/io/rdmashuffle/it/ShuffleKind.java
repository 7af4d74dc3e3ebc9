// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.HashMap;
import java.util.Map;

/**
 * The ways that the bytes of a shuffle can go, between executors of one host. A test that runs on each of them has
 * counters tell that it did.
 */
public enum ShuffleKind {
    /** Uncompressed rows of Spark SQL, read in place: the defaults. */
    IN_PLACE(ShuffleMode.AUTO, true, Map.of()),
    /** Uncompressed records of Kryo, copied in batches of blocks ahead of the task, as over RDMA. */
    COPIED(
            ShuffleMode.SHM,
            false,
            Map.of(
                    "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                    "spark.shuffle.rdma.fabric.shm.inPlace", "false")),
    /** Uncompressed rows, almost none of them in memory. */
    ON_DISK(
            ShuffleMode.AUTO,
            true,
            Map.of(
                    "spark.shuffle.rdma.pool.maxSize", "1m",
                    "spark.shuffle.rdma.directory.maxShuffles", "64")),
    /** Java's serialisation: Spark's writers and streams. */
    STREAMS(ShuffleMode.AUTO, false, Map.of("spark.shuffle.compress", "false")),
    /** Uncompressed rows, or records of Kryo, copied in batches of blocks over TCP. */
    OVER_TCP(ShuffleMode.TCP, true, Map.of("spark.serializer", "org.apache.spark.serializer.KryoSerializer")),
    /** Rows; Spark's writers and streams, and its block transfer to peers. */
    OVER_NETTY(ShuffleMode.NETTY, true, Map.of());

    private final ShuffleMode fabric;
    private final boolean rows;

    @SuppressWarnings("ImmutableEnumChecker") // all made by Map.of
    private final Map<String, String> conf;

    ShuffleKind(ShuffleMode fabric, boolean rows, Map<String, String> conf) {
        this.fabric = fabric;
        this.rows = rows;
        this.conf = conf;
    }

    /** Returns the settings of a cluster. */
    public ShuffleMode fabric() {
        return fabric;
    }

    /** Returns whether records are rows of Spark SQL, and not of an RDD. */
    public boolean isOfRows() {
        return rows;
    }

    /** Returns this kind's configuration and more, which wins. The map is the caller's. */
    public Map<String, String> conf(Map<String, String> more) {
        Map<String, String> all = new HashMap<>(conf);
        all.putAll(more);
        return all;
    }

    /** Asserts that remaining executors have read over this path since then. */
    public void assertRead(ClusterStatistics before, ClusterStatistics after) {
        assertThat(bytesOfPeers(before, after)).as("bytes of peers").isPositive();
        assertThat(grown(before, after, ShuffleCounter.DIRECT_BYTES) > 0)
                .as("uncompressed records")
                .isEqualTo(this != STREAMS && this != OVER_NETTY);
        assertThat(grown(before, after, ShuffleCounter.FETCH_BATCHES) > 0)
                .as("copied")
                .isEqualTo(this == COPIED || this == OVER_TCP);
        assertThat(grown(before, after, ShuffleCounter.DISK_READ_BYTES) > 0)
                .as("from disk")
                .isEqualTo(this == ON_DISK);
    }

    /** Returns the bytes that remaining executors have read from others since then. */
    public long bytesOfPeers(ClusterStatistics before, ClusterStatistics after) {
        return grown(before, after, bytesOfPeers());
    }

    /** Returns what counts the bytes read of other executors. */
    public ShuffleCounter bytesOfPeers() {
        return switch (fabric) {
            case NETTY -> ShuffleCounter.NETTY_BYTES;
            case TCP -> ShuffleCounter.TCP_BYTES;
            default -> ShuffleCounter.SHM_BYTES;
        };
    }

    private static long grown(ClusterStatistics before, ClusterStatistics after, ShuffleCounter counter) {
        long grown = 0;
        for (Map.Entry<String, Map<ShuffleCounter, Long>> executor :
                after.byExecutor().entrySet()) {
            Map<ShuffleCounter, Long> had = before.byExecutor().getOrDefault(executor.getKey(), Map.of());
            grown += executor.getValue().getOrDefault(counter, 0L) - had.getOrDefault(counter, 0L);
        }
        return grown;
    }
}
