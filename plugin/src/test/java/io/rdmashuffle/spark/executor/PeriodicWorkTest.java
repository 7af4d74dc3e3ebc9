// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Duties go on, whatever one of them has met. */
@Tag("unit")
@Timeout(60)
class PeriodicWorkTest {
    @Test
    void aDutyThatFailsKeepsNoneFromRunningAgain() throws Exception {
        CountDownLatch failing = new CountDownLatch(3);
        CountDownLatch next = new CountDownLatch(3);
        Runnable fails = () -> {
            failing.countDown();
            if (failing.getCount() == 2) {
                throw new IllegalStateException("on purpose");
            }
            throw new OutOfMemoryError("on purpose");
        };
        PeriodicWork upkeep = new PeriodicWork("test", List.of(fails, next::countDown), Duration.ofMillis(1));
        try {
            assertThat(failing.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(next.await(30, TimeUnit.SECONDS)).isTrue();
        } finally {
            upkeep.close();
        }
    }

    @Test
    void checksIdleRegionsFourTimesPerTimeout() {
        assertThat(PeriodicWork.intervalFor(Duration.ofSeconds(20))).isEqualTo(Duration.ofSeconds(5));
        assertThat(PeriodicWork.intervalFor(Duration.ofHours(1))).isEqualTo(Duration.ofSeconds(15));
    }
}
