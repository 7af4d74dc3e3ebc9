// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(10)
class QuantitiesTest {
    @Test
    void durationsHaveUnits() {
        assertThat(Quantities.duration(Duration.ofSeconds(30))).isEqualTo("30 s");
        assertThat(Quantities.duration(Duration.ofMillis(1500))).isEqualTo("1.5 s");
        assertThat(Quantities.duration(Duration.ofMillis(200))).isEqualTo("200 ms");
        assertThat(Quantities.duration(Duration.ZERO)).isEqualTo("0 ms");
    }

    @Test
    void sizesAreMebibytes() {
        assertThat(Quantities.mebibytes(0)).isEqualTo("0.0 MiB");
        assertThat(Quantities.mebibytes((12L << 20) + (1L << 19))).isEqualTo("12.5 MiB");
    }
}
