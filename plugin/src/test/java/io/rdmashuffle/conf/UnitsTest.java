// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("unit")
class UnitsTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0, 0",
        "1, 1, 1",
        "1023b, 1023, 1023",
        "4K, 4096, 4k",
        "1536k, 1572864, 1536k",
        "1024k, 1048576, 1m",
        "8mb, 8388608, 8m",
        "1g, 1073741824, 1g",
        "1t, 1099511627776, 1t",
        "1p, 1125899906842624, 1p",
        "1024p, 1152921504606846976, 1024p",
        "9223372036854775807, 9223372036854775807, 9223372036854775807"
    })
    void sizesReadAsSparkReadsThem(String text, long bytes, String written) {
        assertThat(ByteSize.parse(text)).isEqualTo(bytes);
        assertThat(ByteSize.format(bytes)).isEqualTo(written);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "m", "-1", "1.5g", "1 g", "1e", "1kk", "8192p", "9223372036854775808", "1gbb", "0x10"})
    void otherSizesAreRefused(String text) {
        assertThatThrownBy(() -> ByteSize.parse(text)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @CsvSource({
        "0s, PT0S, 0ms",
        "250us, PT0.00025S, 250us",
        "100ms, PT0.1S, 100ms",
        "1500MS, PT1.5S, 1500ms",
        "120s, PT2M, 2min",
        "2m, PT2M, 2min",
        "90min, PT1H30M, 90min",
        "24h, PT24H, 1d",
        "3d, PT72H, 3d"
    })
    void durationsReadAsSparkReadsThem(String text, Duration duration, String written) {
        assertThat(TimeSpan.parse(text)).isEqualTo(duration);
        assertThat(TimeSpan.format(duration)).isEqualTo(written);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "s", "10", "-1s", "1.5s", "1 s", "1y", "1ns", "200000d", "99999999999999999999s"})
    void otherDurationsAreRefused(String text) {
        assertThatThrownBy(() -> TimeSpan.parse(text)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void roundTrip() {
        long seed = new Random().nextLong();
        System.out.println("UnitsTest.roundTrip seed " + seed);
        Random random = new Random(seed);
        for (int i = 0; i < 10_000; i++) {
            long number = random.nextLong() >>> (1 + random.nextInt(62));
            assertThat(ByteSize.parse(ByteSize.format(number)))
                    .as("seed %d", seed)
                    .isEqualTo(number);
            Duration duration = Duration.ofNanos(number / 1000 * 1000);
            assertThat(TimeSpan.parse(TimeSpan.format(duration)))
                    .as("seed %d", seed)
                    .isEqualTo(duration);
        }
    }
}
