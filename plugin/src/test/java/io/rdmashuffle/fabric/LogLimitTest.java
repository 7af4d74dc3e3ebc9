// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Which of many lines are logged. */
@Tag("unit")
class LogLimitTest {
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5);
    private final LogLimit<Integer> limit = new LogLimit<>(clock::get);

    @Test
    void oneLineAMinuteAndTheOthersAreCounted() {
        assertThat(limit.take(1)).isZero();
        assertThat(limit.take(1)).isEqualTo(LogLimit.SILENT);
        assertThat(limit.take(2)).as("another subject").isZero();
        clock.addAndGet(LogLimit.INTERVAL_NANOS - 1);
        assertThat(limit.take(1)).isEqualTo(LogLimit.SILENT);
        clock.addAndGet(1);
        assertThat(limit.take(1)).isEqualTo(2);
        assertThat(limit.take(1)).isEqualTo(LogLimit.SILENT);
        clock.addAndGet(LogLimit.INTERVAL_NANOS);
        assertThat(limit.take(1)).isOne();
    }

    @Test
    void subjectsAreBounded() {
        for (int subject = 0; subject <= LogLimit.MAX_SUBJECTS; subject++) {
            assertThat(limit.take(subject)).isZero();
        }
        assertThat(limit.take(LogLimit.MAX_SUBJECTS)).isEqualTo(LogLimit.SILENT);
        assertThat(limit.take(0)).as("forgotten").isZero();
    }
}
