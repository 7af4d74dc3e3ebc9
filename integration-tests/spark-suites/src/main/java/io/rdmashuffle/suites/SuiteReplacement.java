// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.suites.Suite.Engine;
import java.util.List;
import java.util.Map;

/** Tests of ours that replace suites of Spark, with the reason. */
final class SuiteReplacement {
    private static final String SHUFFLE = "org.apache.spark.ShuffleSuite";
    private static final String DECOMMISSION = "org.apache.spark.storage.BlockManagerDecommissionIntegrationSuite";
    private static final String SORT_SHUFFLE = "org.apache.spark.SortShuffleSuite";

    private static final String CLEANER = "org.apache.spark.ContextCleanerSuite";
    private static final String ADAPTIVE = "org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite";

    /** Tests that look at files of the shuffle, where there are some: no map output has room in the pool. */
    private static final Map<String, String> FULL_POOL = Map.of(
            // The directory uses 1,024,064 of 1,048,576 bytes; the rest is smaller than the smallest part of a chunk.
            "spark.shuffle.rdma.pool.maxSize", "1m",
            "spark.shuffle.rdma.directory.maxShuffles", "16000",
            "spark.shuffle.rdma.pool.chunkSize", "1m",
            "spark.shuffle.rdma.disk.enabled", "false",
            "spark.shuffle.rdma.pool.reserveTimeout", "0ms");

    /** Tests whose numbers are those of compressed blocks, with blocks as Spark's streams make them. */
    private static final Map<String, String> STREAMS = Map.of("spark.shuffle.rdma.direct.enabled", "false");

    /** Tests that count migrated outputs; otherwise these stay for other executors of the host. */
    private static final Map<String, String> MIGRATING = Map.of("spark.shuffle.rdma.outlive.enabled", "false");

    private SuiteReplacement() {}

    /** Returns what runs in place of a suite of Spark with this shuffle; empty if the suite itself does. */
    static List<Suite> of(String origin, ShuffleMode fabric) {
        if (origin.equals(SHUFFLE)) {
            // Abstract, so that a subclass runs; and a second one for what looks at files.
            return List.of(
                    Suite.inPlaceOf("ShuffleSuite", SHUFFLE, name("PlainShuffleSuite"), Engine.SCALATEST),
                    exempt("ShuffleSuite-full-pool", SHUFFLE, name("PlainShuffleSuite"), FULL_POOL));
        }
        if (origin.equals(SORT_SHUFFLE) && fabric != ShuffleMode.SORT) {
            // ShuffleSuite once more, with sort shuffle set, and two tests that look for sort shuffle's files.
            return List.of(
                    Suite.inPlaceOf("SortShuffleSuite", SORT_SHUFFLE, name("SortShuffleEquivalentsIT"), Engine.JUNIT));
        }
        if (origin.equals(DECOMMISSION) && fabric != ShuffleMode.SORT) {
            String simple = "BlockManagerDecommissionIntegrationSuite";
            return List.of(
                    new Suite(simple, DECOMMISSION, DECOMMISSION, Engine.SCALATEST, List.of(), MIGRATING),
                    exempt(simple + "-full-pool", DECOMMISSION, DECOMMISSION, FULL_POOL));
        }
        if (origin.equals(CLEANER) && fabric != ShuffleMode.SORT) {
            String simple = "ContextCleanerSuite";
            return List.of(
                    Suite.asItIs(simple, CLEANER, Engine.SCALATEST),
                    exempt(simple + "-full-pool", CLEANER, CLEANER, FULL_POOL));
        }
        if (origin.equals(ADAPTIVE) && fabric != ShuffleMode.SORT && fabric != ShuffleMode.NETTY) {
            String simple = "AdaptiveQueryExecSuite";
            return List.of(
                    Suite.asItIs(simple, ADAPTIVE, Engine.SCALATEST),
                    exempt(simple + "-streams", ADAPTIVE, ADAPTIVE, STREAMS));
        }
        return List.of();
    }

    /** Returns the tests that are exempt in a suite, and pass with this configuration. */
    private static Suite exempt(String name, String origin, String className, Map<String, String> conf) {
        List<String> tests = Exemptions.load().testsIn(name);
        return new Suite(name, origin, className, Engine.SCALATEST, tests, conf);
    }

    private static String name(String simple) {
        return SuiteReplacement.class.getPackageName() + "." + simple;
    }
}
