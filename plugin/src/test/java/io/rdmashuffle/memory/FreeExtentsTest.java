// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class FreeExtentsTest {
    private static final int GRANULES = 300;
    private static final long GRANULE = FreeExtents.GRANULE_BYTES;

    /** Bits are granules in use. */
    private final BitSet used = new BitSet(GRANULES);

    private final FreeExtents free = new FreeExtents(0, GRANULES * GRANULE);
    private final List<FreeExtents.Extent> taken = new ArrayList<>();

    @Test
    void behavesLikeABitmap() {
        long seed = System.nanoTime();
        System.out.println("FreeExtentsTest seed " + seed);
        Random random = new Random(seed);
        for (int step = 0; step < 50_000; step++) {
            String where = "seed " + seed + " step " + step;
            switch (random.nextInt(5)) {
                case 0, 1 -> take(1 + random.nextInt(20), random.nextInt(40), where);
                case 2 -> takeAt(random.nextInt(GRANULES), 1 + random.nextInt(20), where);
                default -> release(random);
            }
            assertThat(free.freeBytes()).as(where).isEqualTo((GRANULES - used.cardinality()) * GRANULE);
            assertThat(free.fragments()).as(where).isEqualTo(freeRuns());
        }
        taken.forEach(extent -> free.release(extent.offset(), extent.lengthBytes()));
        assertThat(free.fragments()).isOne();
    }

    private void take(int minimum, int more, String where) {
        int preferred = minimum + more;
        int best = -1;
        int bestLength = 0;
        for (int start = used.nextClearBit(0); start < GRANULES; start = used.nextClearBit(runEnd(start))) {
            int length = runEnd(start) - start;
            boolean better = bestLength < preferred ? length > bestLength : length >= preferred && length < bestLength;
            if (better) {
                best = start;
                bestLength = length;
            }
        }
        bestLength = Math.min(bestLength, preferred);
        FreeExtents.Extent extent = free.take(minimum * GRANULE, preferred * GRANULE);
        if (bestLength < minimum) {
            assertThat(extent).as(where).isNull();
        } else {
            assertThat(extent).as(where).isEqualTo(new FreeExtents.Extent(best * GRANULE, bestLength * GRANULE));
            used.set(best, best + bestLength);
            taken.add(new FreeExtents.Extent(best * GRANULE, bestLength * GRANULE));
        }
    }

    private void takeAt(int start, int preferred, String where) {
        boolean startsRun = !used.get(start) && (start == 0 || used.get(start - 1));
        int expected = startsRun ? Math.min(preferred, runEnd(start) - start) : 0;
        assertThat(free.takeAt(start * GRANULE, preferred * GRANULE)).as(where).isEqualTo(expected * GRANULE);
        if (expected > 0) {
            used.set(start, start + expected);
            taken.add(new FreeExtents.Extent(start * GRANULE, expected * GRANULE));
        }
    }

    private void release(Random random) {
        if (!taken.isEmpty()) {
            FreeExtents.Extent extent = taken.remove(random.nextInt(taken.size()));
            free.release(extent.offset(), extent.lengthBytes());
            used.clear((int) (extent.offset() / GRANULE), (int) ((extent.offset() + extent.lengthBytes()) / GRANULE));
        }
    }

    private int runEnd(int start) {
        int end = used.nextSetBit(start);
        return end < 0 ? GRANULES : end;
    }

    private int freeRuns() {
        int runs = 0;
        for (int start = used.nextClearBit(0); start < GRANULES; start = used.nextClearBit(runEnd(start))) {
            runs++;
        }
        return runs;
    }

    /** Short requests leave a long run whole while there are short ranges for them. */
    @Test
    void shortRangesAreUsedBeforeLongOnes() {
        free.take(GRANULES * GRANULE, GRANULES * GRANULE);
        free.release(0, 200 * GRANULE);
        free.release(210 * GRANULE, 3 * GRANULE);
        free.release(220 * GRANULE, 2 * GRANULE);
        assertThat(free.take(GRANULE, 2 * GRANULE)).isEqualTo(new FreeExtents.Extent(220 * GRANULE, 2 * GRANULE));
        assertThat(free.take(GRANULE, 2 * GRANULE)).isEqualTo(new FreeExtents.Extent(210 * GRANULE, 2 * GRANULE));
        assertThat(free.take(GRANULE, 200 * GRANULE)).isEqualTo(new FreeExtents.Extent(0, 200 * GRANULE));
    }

    /** Map outputs of many sizes that come and go leave many short ranges; finding one must not look at each. */
    @Test
    void findingARangeLooksAtFewOfMany() {
        int ranges = 1 << 16;
        FreeExtents many = new FreeExtents(0, (2L * ranges + 2) * GRANULE);
        many.take(2L * ranges * GRANULE, 2L * ranges * GRANULE);
        for (int i = 0; i < ranges; i++) {
            many.release(2L * i * GRANULE, GRANULE);
        }
        // A look at every range for each of these would be 6.5 billion.
        for (int i = 0; i < 100_000; i++) {
            FreeExtents.Extent taken = many.take(2 * GRANULE, 2 * GRANULE);
            assertThat(taken).isNotNull();
            assertThat(many.take(2 * GRANULE, 2 * GRANULE)).isNull();
            many.release(taken.offset(), taken.lengthBytes());
        }
    }

    @Test
    void onlyAFreeEndCanBeCutOff() {
        assertThat(free.tailBytes()).isEqualTo(GRANULES * GRANULE);
        free.take(10 * GRANULE, 10 * GRANULE);
        free.cutTail(100 * GRANULE);
        assertThat(free.freeBytes()).isEqualTo((GRANULES - 110) * GRANULE);
        assertThat(free.tailBytes()).isEqualTo((GRANULES - 110) * GRANULE);
        FreeExtents.Extent rest = free.take(GRANULE, GRANULES * GRANULE);
        assertThat(rest).isEqualTo(new FreeExtents.Extent(10 * GRANULE, (GRANULES - 110) * GRANULE));
        assertThat(free.tailBytes()).isZero();
        assertThatThrownBy(() -> free.cutTail(GRANULE)).isInstanceOf(IllegalStateException.class);
        free.release(0, 10 * GRANULE);
        assertThat(free.tailBytes()).isZero();
    }

    @Test
    void allOfAFreeEndCanBeCutOff() {
        free.take(10 * GRANULE, 10 * GRANULE);
        free.cutTail((GRANULES - 10) * GRANULE);
        assertThat(free.fragments()).isZero();
        assertThat(free.freeBytes()).isZero();
        free.cutTail(0);
        free.release(0, 10 * GRANULE);
        assertThat(free.tailBytes()).isEqualTo(10 * GRANULE);
    }

    @Test
    void droppedExtentIsNotAllocated() {
        free.take(10 * GRANULE, 10 * GRANULE);
        free.clear();
        assertThat(free.fragments()).isZero();
        assertThat(free.freeBytes()).isZero();
        assertThat(free.take(GRANULE, GRANULE)).isNull();
        free.release(0, 2 * GRANULE);
        assertThat(free.take(GRANULE, GRANULES * GRANULE)).isEqualTo(new FreeExtents.Extent(0, 2 * GRANULE));
    }

    @Test
    void aRangeOverlapsWhereAnyOfItsBytesIsFree() {
        free.take(10 * GRANULE, 10 * GRANULE);
        free.release(4 * GRANULE, GRANULE);
        assertThat(free.overlaps(0, 4 * GRANULE)).isFalse();
        assertThat(free.overlaps(0, 4 * GRANULE + 1)).isTrue();
        assertThat(free.overlaps(5 * GRANULE - 1, 1)).isTrue();
        assertThat(free.overlaps(5 * GRANULE, 5 * GRANULE)).isFalse();
        assertThat(free.overlaps(5 * GRANULE, 5 * GRANULE + 1)).isTrue();
    }

    @Test
    void doubleReleaseIsRefused() {
        free.take(10 * GRANULE, 10 * GRANULE);
        free.release(2 * GRANULE, GRANULE);
        assertThatThrownBy(() -> free.release(2 * GRANULE, GRANULE)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> free.release(GRANULE, 2 * GRANULE)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> free.release(9 * GRANULE, 2 * GRANULE)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void lengthsAreRoundedUpToGranules() {
        assertThat(FreeExtents.roundUp(0)).isZero();
        assertThat(FreeExtents.roundUp(1)).isEqualTo(64);
        assertThat(FreeExtents.roundUp(64)).isEqualTo(64);
        assertThat(FreeExtents.roundUp(65)).isEqualTo(128);
        assertThatThrownBy(() -> FreeExtents.roundUp(Long.MAX_VALUE)).isInstanceOf(ArithmeticException.class);
    }
}
