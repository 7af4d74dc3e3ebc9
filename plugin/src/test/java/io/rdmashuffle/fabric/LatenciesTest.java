// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class LatenciesTest {
    private static long micros(long count) {
        return TimeUnit.MICROSECONDS.toNanos(count);
    }

    @Test
    void eachTimeLiesInItsRange() {
        for (long micros = 1; micros < 1 << 20; micros += 1 + micros / 97) {
            int bucket = Latencies.bucket(micros(micros));
            assertThat(micros).as("range %s", bucket).isLessThan(Latencies.endMicros(bucket));
            assertThat(micros)
                    .as("range %s", bucket)
                    .isGreaterThanOrEqualTo(bucket == 1 ? 1 : Latencies.endMicros(bucket - 1));
        }
        assertThat(Latencies.bucket(999)).isZero();
        assertThat(Latencies.bucket(-5)).isZero();
        assertThat(Latencies.bucket(Long.MAX_VALUE)).isEqualTo(Latencies.BUCKETS - 1);
        assertThat(Latencies.endMicros(Latencies.BUCKETS - 1)).isGreaterThan(TimeUnit.MINUTES.toMicros(2));
    }

    @Test
    void quantilesAreEndsOfRanges() {
        ReadMeter meter = new ReadMeter();
        for (int i = 0; i < 90; i++) {
            meter.succeeded(1, 0, micros(3));
        }
        for (int i = 0; i < 10; i++) {
            meter.succeeded(1, 0, micros(1000));
        }
        Latencies latencies = meter.latencies();
        assertThat(latencies.total()).isEqualTo(100);
        assertThat(latencies.quantileMicros(0.5)).isEqualTo(4);
        assertThat(latencies.quantileMicros(0.9)).isEqualTo(4);
        assertThat(latencies.quantileMicros(0.91)).isEqualTo(1024);
        assertThat(latencies.quantileMicros(1)).isEqualTo(1024);
        assertThat(Latencies.NONE.quantileMicros(0.5)).isZero();
    }

    @Test
    void thoseOfSeveralAddUp() {
        Latencies few = Latencies.of(new long[] {1, 2});
        Latencies more = Latencies.of(new long[] {0, 1, 0, 4, 0, 0});
        assertThat(few.plus(more)).isEqualTo(Latencies.of(new long[] {1, 3, 0, 4}));
        assertThat(more.plus(few)).isEqualTo(few.plus(more));
        assertThat(more.counts()).hasSize(4);
        assertThat(few.plus(Latencies.NONE)).isEqualTo(few);
    }

    @Test
    void aMeterCountsWhatIsUnderWayAndWhatWentWrong() {
        ReadMeter meter = new ReadMeter();
        meter.connectionOpened();
        meter.connectionOpened();
        meter.connectionLost();
        meter.connectionClosed();
        meter.begun();
        meter.begun();
        meter.begun();
        meter.retried();
        meter.failed();
        meter.succeeded(1, 0, 1);
        assertThat(meter.load(77)).isEqualTo(new FabricLoad(1, 77, 1, 1, 1, 2, 1, 0));
        assertThat(meter.load(0).plus(meter.load(3))).isEqualTo(new FabricLoad(2, 3, 2, 2, 2, 4, 2, 0));
    }
}
