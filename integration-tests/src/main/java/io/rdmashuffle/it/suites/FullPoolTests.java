package io.rdmashuffle.it.suites;

import java.util.List;

/** Tests of Spark's {@code ShuffleSuite} that look at files of the shuffle. */
final class FullPoolTests {
    /** It is about compression; that it wants a file, any file, to be there after a job keeps it from the pool. */
    static final String COMPRESSION = "shuffle with different compression settings (SPARK-3426)";

    /** All of them. The others are about files, run with a pool, too, and are exempt there. */
    static final List<String> NAMES = List.of(
            COMPRESSION,
            "[SPARK-4085] rerun map stage if reduce stage cannot find its local shuffle file",
            "cannot find its local shuffle file if no execution of the stage and rerun shuffle",
            "SPARK-36206: shuffle checksum detect disk corruption");

    private FullPoolTests() {}
}
