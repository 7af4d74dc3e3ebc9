// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import java.util.List;
import java.util.Map;

/** Tests of Spark that look at files of the shuffle, and the pool with which they find them. */
final class FullPoolTests {
    /**
     * Of {@code ShuffleSuite}. It is about compression; that it wants some file to be there after a job keeps it from
     * the pool.
     */
    static final String COMPRESSION = "shuffle with different compression settings (SPARK-3426)";

    /**
     * Of {@code BlockManagerDecommissionIntegrationSuite}. It is about clean-up, and counts files at the new home
     * before and after.
     */
    static final String CLEANUP = "SPARK-46957: Migrated shuffle files should be able to cleanup from executor";

    /**
     * Those of {@code ShuffleSuite}. But for the first they are about files, run with a pool, too, and are exempt
     * there.
     */
    static final List<String> OF_SHUFFLE_SUITE = List.of(
            COMPRESSION,
            "[SPARK-4085] rerun map stage if reduce stage cannot find its local shuffle file",
            "cannot find its local shuffle file if no execution of the stage and rerun shuffle",
            "SPARK-36206: shuffle checksum detect disk corruption");

    /**
     * A pool that has room for no map output, so that all become files: the directory takes 1,024,064 of 1,048,576
     * bytes; what is left is less than the smallest part of a chunk.
     */
    static final Map<String, String> CONF = Map.of(
            "spark.shuffle.rdma.pool.maxSize", "1m",
            "spark.shuffle.rdma.disk.enabled", "false",
            "spark.shuffle.rdma.directory.maxShuffles", "16000",
            "spark.shuffle.rdma.pool.chunkSize", "1m",
            "spark.shuffle.rdma.pool.reserveTimeout", "0ms");

    private FullPoolTests() {}
}
