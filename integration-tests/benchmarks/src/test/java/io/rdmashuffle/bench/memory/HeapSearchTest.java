// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.memory.HeapSearch.Found;
import java.util.List;
import java.util.OptionalInt;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class HeapSearchTest {
    private static final int LEAST = 72;
    private static final int MOST = 1_024;
    private static final ProbeReply ENOUGH = new ProbeReply(true, 1, "");

    private static ProbeReply tooLittle(int heapMb) {
        return new ProbeReply(false, 1, "at " + heapMb);
    }

    private static Found search(OptionalInt guess, HeapSearch.Probe probe) throws Exception {
        return new HeapSearch(LEAST, MOST, 3).search(guess, probe);
    }

    @Test
    void stepsAreFourPercent() {
        List<Integer> scale = HeapSearch.scale(LEAST, MOST);
        assertThat(scale).startsWith(LEAST, 75).endsWith(MOST).doesNotHaveDuplicates();
        for (int i = 1; i < scale.size() - 1; i++) {
            assertThat((double) scale.get(i) / scale.get(i - 1)).isBetween(1.03, 1.05);
        }
        assertThat(HeapSearch.scale(5, 5)).containsExactly(5);
        assertThat(HeapSearch.scale(5, 8)).containsExactly(5, 6, 7, 8);
    }

    @Test
    void findsTheSmallestHeapFromAnyGuess() throws Exception {
        List<Integer> scale = HeapSearch.scale(LEAST, MOST);
        for (int wanted : scale) {
            for (OptionalInt guess : List.of(
                    OptionalInt.empty(),
                    OptionalInt.of(LEAST),
                    OptionalInt.of(wanted),
                    OptionalInt.of(wanted + 3),
                    OptionalInt.of(MOST))) {
                Found found = search(guess, heapMb -> heapMb < wanted ? tooLittle(heapMb) : ENOUGH);
                assertThat(found.smallestMb()).hasValue(wanted);
                assertThat(found.attempts()).hasSizeLessThan(20);
                assertThat(found.attempts().stream()
                                .filter(attempt -> attempt.heapMb() == wanted)
                                .count())
                        .isGreaterThanOrEqualTo(3);
                int index = scale.indexOf(wanted);
                assertThat(found.failureBelow()).isEqualTo(index == 0 ? "" : "at " + scale.get(index - 1));
            }
        }
    }

    @Test
    void aGoodGuessSavesAttempts() throws Exception {
        HeapSearch.Probe probe = heapMb -> heapMb < 200 ? tooLittle(heapMb) : ENOUGH;
        int with = search(OptionalInt.of(200), probe).attempts().size();
        assertThat(with)
                .isLessThan(search(OptionalInt.empty(), probe).attempts().size());
    }

    @Test
    void noHeapIsEnough() throws Exception {
        Found found = search(OptionalInt.empty(), HeapSearchTest::tooLittle);
        assertThat(found.smallestMb()).isEmpty();
        assertThat(found.failureBelow()).isEqualTo("at " + MOST);
        assertThat(search(OptionalInt.of(LEAST), HeapSearchTest::tooLittle).smallestMb())
                .isEmpty();
    }

    /** A heap that is enough now and then is not enough, and one that failed once may be. */
    @Test
    void chanceDecidesNothing() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int i = 0; i < 200; i++) {
            Found found = search(
                    OptionalInt.empty(),
                    heapMb -> heapMb < 190 || (heapMb < 210 && random.nextInt(5) > 0) ? tooLittle(heapMb) : ENOUGH);
            assertThat(found.smallestMb().orElse(0)).as("seed %d", seed).isBetween(190, 220);
        }
        int[] tries = new int[1];
        Found once = search(
                OptionalInt.of(200),
                heapMb -> heapMb < 100 || (heapMb == 196 && tries[0]++ == 0) ? tooLittle(heapMb) : ENOUGH);
        assertThat(once.smallestMb().orElse(0)).isBetween(100, 196);
    }
}
