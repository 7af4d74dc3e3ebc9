// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class RecentReadsTest {
    private final RecentReads reads = new RecentReads();

    @Test
    void firstTasksSayNothing() {
        assertThat(reads.waitPercent()).isZero();
        reads.add(4_999, 4_999, 1_000_000, 1_000_000);
        assertThat(reads.areKnown()).isFalse();
        reads.add(1, 1, 0, 0);
        assertThat(reads.areKnown()).isFalse();
        reads.addSample(1_000, 500, 2_000);
        assertThat(reads.areKnown()).isTrue();
    }

    /** 10 MB at 80 Mb/s. */
    @Test
    void noMoreIsSavedThanTheTransferTakes() {
        reads.add(9_000, 10_000, 10_000_000, 20_000_000);
        reads.addSample(1_000, 500, 2_000);
        assertThat(reads.savedMillis(80, 1, false)).isEqualTo(500);
        assertThat(reads.savedMillis(80, 0.5, false)).isEqualTo(250);
    }

    @Test
    void noMoreIsSavedThanTasksWait() {
        reads.add(600, 10_000, 10_000_000, 20_000_000);
        reads.addSample(1_000, 500, 2_000);
        assertThat(reads.savedMillis(80, 1, false)).isEqualTo(300);
        assertThat(reads.savedMillis(80, 1, true)).isEqualTo(500);
    }

    @Test
    void theCodecTakesTimeForAllBytes() {
        reads.add(600, 10_000, 10_000_000, 20_000_000);
        reads.addSample(1_000, 500, 2_000);
        assertThat(reads.codecMillis()).isEqualTo(40);
    }

    @Test
    void samplesOfLongAgoCountForLess() {
        reads.addSample(1L << 30, 1L << 28, 1_000);
        assertThat(reads.savedShare()).isEqualTo(0.75);
        reads.addSample(1L << 29, 1L << 29, 1_000);
        assertThat(reads.savedShare()).isEqualTo(0.375);
    }

    @Test
    void rowsThatGrowSaveNothing() {
        reads.addSample(1_000, 1_100, 1_000);
        assertThat(reads.savedShare()).isZero();
    }

    @Test
    void waitsOfLongAgoCountForLess() {
        for (int i = 0; i < 60; i++) {
            reads.add(10_000, 10_000, 0, 0);
        }
        for (int i = 0; i < 30; i++) {
            reads.add(0, 10_000, 0, 0);
        }
        // 300 of 600 s, halved.
        assertThat(reads.waitPercent()).isEqualTo(50);
        for (int i = 0; i < 30; i++) {
            reads.add(0, 10_000, 0, 0);
        }
        assertThat(reads.waitPercent()).isEqualTo(25);
    }
}
