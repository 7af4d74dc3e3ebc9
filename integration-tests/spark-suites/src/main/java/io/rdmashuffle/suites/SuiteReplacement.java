// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.suites.Suite.Engine;
import java.util.List;

/** What of ours runs in place of suites of Spark, and why. */
final class SuiteReplacement {
    private static final String SHUFFLE = "org.apache.spark.ShuffleSuite";
    private static final String DECOMMISSION = "org.apache.spark.storage.BlockManagerDecommissionIntegrationSuite";
    private static final String SORT_SHUFFLE = "org.apache.spark.SortShuffleSuite";

    private static final String ADAPTIVE = "org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite";
    private static final String COALESCE = "org.apache.spark.sql.execution.CoalesceShufflePartitionsSuite";

    private SuiteReplacement() {}

    /** Returns what runs in place of a suite of Spark with this shuffle; empty if the suite itself does. */
    static List<Suite> of(String origin, ShuffleMode fabric) {
        if (origin.equals(SHUFFLE)) {
            // Abstract, so that a subclass runs; and a second one for what looks at files.
            return List.of(
                    Suite.inPlaceOf("ShuffleSuite", SHUFFLE, name("PlainShuffleSuite"), Engine.SCALATEST),
                    Suite.withFullPool(
                            "ShuffleSuite", SHUFFLE, name("FullPoolShuffleSuite"), FullPoolTests.OF_SHUFFLE_SUITE));
        }
        if (origin.equals(SORT_SHUFFLE) && fabric != ShuffleMode.SORT) {
            // ShuffleSuite once more, with sort shuffle set, and two tests that look for sort shuffle's files.
            return List.of(
                    Suite.inPlaceOf("SortShuffleSuite", SORT_SHUFFLE, name("SortShuffleEquivalentsIT"), Engine.JUNIT));
        }
        if (origin.equals(DECOMMISSION) && fabric != ShuffleMode.SORT) {
            String simple = "BlockManagerDecommissionIntegrationSuite";
            return List.of(
                    Suite.inPlaceOf(simple, DECOMMISSION, name("PlainDecommissionSuite"), Engine.SCALATEST),
                    Suite.withFullPool(simple, DECOMMISSION, DECOMMISSION, List.of(FullPoolTests.CLEANUP)));
        }
        if (fabric == ShuffleMode.SORT || fabric == ShuffleMode.NETTY) {
            return List.of();
        }
        return switch (origin) {
            case ADAPTIVE -> withoutSizes(origin, BlockSizeTests.OF_ADAPTIVE_QUERY_EXEC_SUITE);
            case COALESCE -> withoutSizes(origin, BlockSizeTests.OF_COALESCE_SHUFFLE_PARTITIONS_SUITE);
            default -> List.of();
        };
    }

    private static List<Suite> withoutSizes(String origin, List<String> tests) {
        String simple = origin.substring(origin.lastIndexOf('.') + 1);
        return List.of(
                Suite.inPlaceOf(simple, origin, name("Bare" + simple), Suite.Engine.SCALATEST),
                Suite.withStreams(simple, origin, tests));
    }

    private static String name(String simple) {
        return SuiteReplacement.class.getPackageName() + "." + simple;
    }
}
