// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ReadRateTest {
    private static final long MIB = 1 << 20;

    private final ReadRate rate = new ReadRate();
    private long now = -1_000_000;

    private void pass(long millis) {
        now += TimeUnit.MILLISECONDS.toNanos(millis);
    }

    /** A read that has the network to itself. */
    private void read(long bytes, long millis) {
        rate.begun(now);
        pass(millis);
        rate.succeeded(bytes, now);
    }

    @Test
    void isUnknownUntilEnoughHasBeenRead() {
        assertThat(rate.bytesPerSecond(now)).isZero();
        read(10 * MIB, 20);
        assertThat(rate.bytesPerSecond(now)).isZero();
        read(10 * MIB, 20);
        assertThat(rate.bytesPerSecond(now)).isEqualTo(500 * MIB);
    }

    @Test
    void aSlowNetworkIsKnownAfterASecond() {
        read(MIB, 600);
        assertThat(rate.bytesPerSecond(now)).isZero();
        read(MIB, 400);
        assertThat(rate.bytesPerSecond(now)).isEqualTo(2 * MIB);
    }

    @Test
    void timeBetweenReadsDoesNotCount() {
        for (int i = 0; i < 16; i++) {
            read(20 * MIB, 20);
            pass(500);
        }
        assertThat(rate.bytesPerSecond(now)).isEqualTo(1000 * MIB);
    }

    @Test
    void readsAtTheSameTimeShareTheirTime() {
        for (int i = 0; i < 8; i++) {
            rate.begun(now);
            rate.begun(now);
            pass(20);
            rate.succeeded(10 * MIB, now);
            pass(20);
            rate.succeeded(10 * MIB, now);
        }
        assertThat(rate.bytesPerSecond(now)).isEqualTo(500 * MIB);
    }

    /** A table of offsets takes a round trip, whatever the network carries. */
    @Test
    void shortReadsDoNotCount() {
        read(20 * MIB, 20);
        for (int i = 0; i < 1000; i++) {
            read(4096, 1);
        }
        assertThat(rate.bytesPerSecond(now)).isEqualTo(1000 * MIB);
    }

    @Test
    void timeUntilAFailureDoesNotCount() {
        read(20 * MIB, 20);
        rate.begun(now);
        rate.begun(now);
        pass(30_000);
        rate.failed();
        rate.succeeded(MIB, now);
        assertThat(rate.bytesPerSecond(now)).isEqualTo(1000 * MIB);
        read(20 * MIB, 20);
        assertThat(rate.bytesPerSecond(now)).isEqualTo(1000 * MIB);
    }

    @Test
    void oldMeasurementsExpire() {
        read(20 * MIB, 20);
        pass(TimeUnit.MINUTES.toMillis(4));
        assertThat(rate.bytesPerSecond(now)).isPositive();
        pass(TimeUnit.MINUTES.toMillis(2));
        assertThat(rate.bytesPerSecond(now)).isZero();
    }

    @Test
    void readsThatNeverPauseCount() {
        rate.begun(now);
        for (int i = 0; i < 200; i++) {
            rate.begun(now);
            pass(10);
            rate.succeeded(MIB, now);
        }
        assertThat(rate.bytesPerSecond(now)).isBetween(95 * MIB, 105 * MIB);
    }

    @Test
    void followsANetworkThatChanges() {
        for (int i = 0; i < 100; i++) {
            read(100 * MIB, 100);
        }
        for (int i = 0; i < 100; i++) {
            read(10 * MIB, 100);
        }
        assertThat(rate.bytesPerSecond(now)).isBetween(99 * MIB, 110 * MIB);
    }
}
