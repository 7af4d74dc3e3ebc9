// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import java.util.List;
import java.util.Map;

/**
 * Tests of Spark whose numbers are those of compressed blocks, to the byte. Blocks of bare records are larger.
 */
final class BlockSizeTests {
    /** Of {@code AdaptiveQueryExecSuite}. */
    static final List<String> OF_ADAPTIVE_QUERY_EXEC_SUITE = List.of(
            "metrics of the shuffle read",
            "SPARK-35264: Support AQE side shuffled hash join formula",
            "SPARK-35725: Support optimize skewed partitions in RebalancePartitions",
            "SPARK-37357: Add small partition factor for rebalance partitions");

    /** Of {@code CoalesceShufflePartitionsSuite}. */
    static final List<String> OF_COALESCE_SHUFFLE_PARTITIONS_SUITE = List.of(
            "determining the number of reducers: aggregate operator",
            "determining the number of reducers: join operator",
            "determining the number of reducers: complex query 1",
            "determining the number of reducers: complex query 2");

    /** Blocks as Spark's streams make them, in the pool. */
    static final Map<String, String> CONF = Map.of("spark.shuffle.rdma.direct.enabled", "false");

    private BlockSizeTests() {}
}
