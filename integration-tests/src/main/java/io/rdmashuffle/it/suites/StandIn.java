package io.rdmashuffle.it.suites;

import io.rdmashuffle.it.FabricMode;
import io.rdmashuffle.it.suites.Suite.Engine;
import java.util.List;

/** What of ours runs in place of suites of Spark, and why. */
final class StandIn {
    private static final String SHUFFLE = "org.apache.spark.ShuffleSuite";
    private static final String SORT_SHUFFLE = "org.apache.spark.SortShuffleSuite";

    private StandIn() {}

    /** Returns what runs in place of a suite of Spark with this shuffle; empty if the suite itself does. */
    static List<Suite> of(String origin, FabricMode fabric) {
        if (origin.equals(SHUFFLE)) {
            // Abstract, so that a subclass runs; and a second one for what looks at files.
            return List.of(
                    new Suite("ShuffleSuite", SHUFFLE, name("PlainShuffleSuite"), Engine.SCALATEST, List.of()),
                    new Suite(
                            "ShuffleSuite-full-pool",
                            SHUFFLE,
                            name("FullPoolShuffleSuite"),
                            Engine.SCALATEST,
                            FullPoolTests.NAMES));
        }
        if (origin.equals(SORT_SHUFFLE) && fabric != FabricMode.SORT) {
            // ShuffleSuite once more, with sort shuffle set, and two tests that look for sort shuffle's files.
            return List.of(new Suite(
                    "SortShuffleSuite", SORT_SHUFFLE, name("SortShuffleEquivalentsIT"), Engine.JUNIT, List.of()));
        }
        return List.of();
    }

    private static String name(String simple) {
        return StandIn.class.getPackageName() + "." + simple;
    }
}
