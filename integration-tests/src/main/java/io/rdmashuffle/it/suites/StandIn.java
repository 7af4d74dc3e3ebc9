package io.rdmashuffle.it.suites;

import io.rdmashuffle.it.FabricMode;
import java.util.Arrays;
import java.util.Optional;

/** Classes of ours that run in place of a suite of Spark, and why. */
enum StandIn {
    /** Abstract; a subclass runs all of its tests. */
    SHUFFLE(
            "org.apache.spark.ShuffleSuite",
            "io.rdmashuffle.it.suites.PlainShuffleSuite",
            Suite.Engine.SCALATEST,
            true),

    /** ShuffleSuite once more, with sort shuffle set, and two tests that look for sort shuffle's files. */
    SORT_SHUFFLE(
            "org.apache.spark.SortShuffleSuite",
            "io.rdmashuffle.it.suites.SortShuffleEquivalentsIT",
            Suite.Engine.JUNIT,
            false);

    private final String origin;
    private final String className;
    private final Suite.Engine engine;
    private final boolean alsoWithSort;

    StandIn(String origin, String className, Suite.Engine engine, boolean alsoWithSort) {
        this.origin = origin;
        this.className = className;
        this.engine = engine;
        this.alsoWithSort = alsoWithSort;
    }

    /** Returns what runs in place of a suite of Spark with this shuffle. */
    static Optional<Suite> of(String origin, FabricMode fabric) {
        return Arrays.stream(values())
                .filter(standIn -> standIn.origin.equals(origin))
                .filter(standIn -> standIn.alsoWithSort || fabric != FabricMode.SORT)
                .map(StandIn::suite)
                .findAny();
    }

    private Suite suite() {
        return new Suite(origin.substring(origin.lastIndexOf('.') + 1), origin, className, engine);
    }
}
