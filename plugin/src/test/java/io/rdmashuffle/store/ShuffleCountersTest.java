// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class ShuffleCountersTest {
    @Test
    void bytesAreShownInMebibytesAndEverythingElseAsItIs() {
        assertThat(ShuffleCounter.DEMOTED_BYTES.format(3 << 19)).isEqualTo("1.5 MiB");
        assertThat(ShuffleCounter.DEMOTED_BYTES.format(0)).isEqualTo("0");
        assertThat(ShuffleCounter.MAP_OUTPUTS_FILED.format(3 << 19)).isEqualTo("1572864");
    }

    @Test
    void eachCounterHasALabelOfItsOwn() {
        assertThat(Arrays.stream(ShuffleCounter.values()).map(ShuffleCounter::label))
                .doesNotHaveDuplicates()
                .allMatch(label -> label.matches("[a-z][A-Za-z]+"));
    }
}
