// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that only the garbage of the work is measured. */
@Tag("unit")
class GarbageTest {
    @SuppressWarnings("UnusedVariable") // keeps the compiler from leaving an allocation out
    private static volatile Object kept = "";

    @Test
    void aLookCountsNothingOfItsOwn() {
        Garbage.ofThisThread().bytes();
        assertThat(Garbage.ofThisThread().bytes()).isZero();
    }

    @Test
    void countsAllocationsOfTheMeasuredSection() {
        for (Garbage garbage : new Garbage[] {Garbage.ofThisThread(), Garbage.ofAllThreads()}) {
            kept = new byte[100_000];
            assertThat(garbage.bytes()).isGreaterThanOrEqualTo(100_000);
        }
    }
}
