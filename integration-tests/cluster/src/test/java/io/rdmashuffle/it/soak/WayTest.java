// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class WayTest {
    /** As many as a soak of 20 minutes runs at least. */
    private static final int APPLICATIONS = 9;

    /** What a soak runs after its end while a way has less than its least share. */
    private static final int AFTER_END = 3;

    @Test
    void theOneWithTheSmallestShareIsNext() {
        assertThat(Way.of(4, Map.of(Way.IN_PLACE, 0.2, Way.COPIED, 0.3, Way.ON_DISK, 0.3)))
                .isEqualTo(Way.IN_PLACE);
        assertThat(Way.of(4, Map.of(Way.IN_PLACE, 0.4, Way.COPIED, 0.3, Way.ON_DISK, 0.31)))
                .isEqualTo(Way.COPIED);
        assertThat(Way.of(4, Map.of(Way.IN_PLACE, 0.4, Way.COPIED, 0.3))).isEqualTo(Way.ON_DISK);
    }

    @Test
    void threeApplicationsThatMovedNothingHadEachWay() {
        Set<Way> ways = EnumSet.noneOf(Way.class);
        for (int number = 0; number < 3; number++) {
            ways.add(Way.of(number, Map.of()));
        }
        assertThat(ways).containsExactlyInAnyOrderElementsOf(Way.OWED);
    }

    @Test
    void someAreDrawnWhateverTheShares() {
        assertThat(Way.of(7, Map.of(Way.IN_PLACE, 1.0))).isEqualTo(Way.DRAWN);
        assertThat(Way.of(15, Map.of())).isEqualTo(Way.DRAWN);
    }

    @Test
    void eachWayHasItsLeastShareWhateverTheSeed() {
        for (long seed = 0; seed < 1_000; seed++) {
            Random random = new Random(seed);
            SoakReport report = new SoakReport(Duration.ofMinutes(20), true);
            for (int number = 0; number < APPLICATIONS || isOwed(report, number); number++) {
                run(Way.of(number, report.shares()), random, report);
            }
            assertThat(report.acceptable()).as("seed %d: %s", seed, report).isTrue();
        }
    }

    private static boolean isOwed(SoakReport report, int number) {
        return number < APPLICATIONS + AFTER_END && !report.belowLeastShare().isEmpty();
    }

    /** Of four executors: a quarter of the copies are their own; a tenth and more are streams or Netty. */
    private static void run(Way way, Random random, SoakReport report) {
        long bytes = (20L + random.nextInt(30)) << 20;
        long direct = way == Way.DRAWN ? 0 : bytes * (80 + random.nextInt(11)) / 100;
        boolean copied = way == Way.COPIED || way == Way.ON_DISK;
        report.compared();
        report.applicationEnded(Map.of(Fault.KILLED, 1));
        report.moved(Map.of(
                "shm",
                bytes,
                "direct",
                direct,
                "fetchBatch",
                copied ? direct * 3 / 4 : 0,
                "diskRead",
                way == Way.ON_DISK ? direct * 9 / 10 : 0));
    }
}
