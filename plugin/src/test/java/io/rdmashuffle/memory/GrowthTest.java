// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class GrowthTest {
    private static final long MIB = 1 << 20;

    private final Growth growth = new Growth(Thread::new);

    private void assertExpected(long bytes, Duration time) {
        long before = System.nanoTime();
        assertThat(growth.begin(bytes, () -> {})).isTrue();
        long after = System.nanoTime();
        assertThat(growth.expectedByNanos() - before).isGreaterThanOrEqualTo(time.toNanos());
        assertThat(growth.expectedByNanos() - after).isLessThanOrEqualTo(time.toNanos());
    }

    @Test
    void oneAtATimeAndOnlyWhereThereIsRoom() {
        assertThat(growth.isUnderWay()).isFalse();
        assertThat(growth.mayBegin(0)).isFalse();
        assertThat(growth.mayBegin(-1)).isFalse();
        assertThat(growth.mayBegin(1)).isTrue();
        growth.begin(1, () -> {});
        assertThat(growth.isUnderWay()).isTrue();
        assertThat(growth.mayBegin(1)).isFalse();
        growth.succeed();
        assertThat(growth.isUnderWay()).isFalse();
        assertThat(growth.hasFailed()).isFalse();
        assertThat(growth.mayBegin(1)).isTrue();
    }

    @Test
    void itIsWaitedForAccordingToItsLengthWithinBounds() {
        assertExpected(1, Duration.ofSeconds(1));
        assertExpected(256 * MIB, Duration.ofSeconds(1));
        assertExpected(1024 * MIB, Duration.ofSeconds(4));
        assertExpected(1L << 40, Duration.ofSeconds(30));
    }

    @Test
    void afterAFailureItIsNotTriedAgainAtOnce() {
        growth.begin(MIB, () -> {});
        growth.fail();
        assertThat(growth.isUnderWay()).isFalse();
        assertThat(growth.hasFailed()).isTrue();
        assertThat(growth.mayBegin(MIB)).isFalse();
    }

    @Test
    void aHostThatHasMoreRoomNowIsAskedAtOnce() {
        growth.begin(MIB, () -> {});
        growth.fail();
        growth.forgetFailure();
        assertThat(growth.hasFailed()).isFalse();
        assertThat(growth.mayBegin(MIB)).isTrue();
    }

    /** As at a container's limit of processes: the heap has room, and the task goes on. */
    @Test
    void growthWithoutAThreadHasFailed() {
        Growth without = new Growth(task -> new Thread(task) {
            @Override
            public synchronized void start() {
                throw new OutOfMemoryError("unable to create native thread");
            }
        });
        assertThat(without.begin(MIB, () -> {})).isFalse();
        assertThat(without.isUnderWay()).isFalse();
        assertThat(without.hasFailed()).isTrue();
        assertThat(without.mayBegin(MIB)).isFalse();
    }

    @Test
    void aSuccessEndsAFailure() {
        growth.fail();
        growth.begin(MIB, () -> {});
        growth.succeed();
        assertThat(growth.hasFailed()).isFalse();
    }
}
