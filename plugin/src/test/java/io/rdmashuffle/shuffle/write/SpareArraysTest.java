// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Arrays of four sizes, each a header shorter than a power of two. */
@Tag("unit")
class SpareArraysTest {
    private static final int HEADER = 2;
    private static final int SMALLEST = 1024;

    private final SpareArrays spares = new SpareArrays(HEADER, SMALLEST);

    @Test
    void arraysOfTheFourSizesAreUsedAgain() {
        for (int size = 0; size < 4; size++) {
            int length = (SMALLEST << size) - HEADER;
            long[] array = spares.take(length);
            assertThat(array).hasSize(length);
            spares.give(array);
            assertThat(spares.take(length)).isSameAs(array);
            assertThat(spares.take(length)).as("given once").isNotSameAs(array).hasSize(length);
        }
    }

    @Test
    void othersAreNotKept() {
        for (int length : new int[] {SMALLEST, (SMALLEST << 4) - HEADER, 7}) {
            long[] array = spares.take(length);
            assertThat(array).hasSize(length);
            spares.give(array);
            assertThat(spares.take(length)).isNotSameAs(array).hasSize(length);
        }
    }
}
