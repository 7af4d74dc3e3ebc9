// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class FetchWaitsTest {
    private final FetchWaits waits = new FetchWaits();

    @Test
    void firstTasksSayNothing() {
        assertThat(waits.percent()).isZero();
        waits.add(4_999, 4_999);
        assertThat(waits.areLong()).isFalse();
        waits.add(1, 1);
        assertThat(waits.areLong()).isTrue();
    }

    @Test
    void waitsAreLongFromAShareOn() {
        waits.add(2_999, 10_000);
        assertThat(waits.areLong()).isFalse();
        waits.add(1, 0);
        assertThat(waits.areLong()).isTrue();
    }

    @Test
    void waitsOfLongAgoCountForLess() {
        for (int i = 0; i < 60; i++) {
            waits.add(10_000, 10_000);
        }
        for (int i = 0; i < 30; i++) {
            waits.add(0, 10_000);
        }
        // 300 of 600 s, halved.
        assertThat(waits.percent()).isEqualTo(50);
        for (int i = 0; i < 30; i++) {
            waits.add(0, 10_000);
        }
        assertThat(waits.percent()).isEqualTo(25);
        assertThat(waits.areLong()).isFalse();
    }
}
