// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ProcessorTimeTest {
    @Test
    void userAndSystemTimeAreAddedWhateverTheNameHolds() {
        String stat = "42 (a (b) 7 8) S 1 42 42 0 -1 4194560 100 0 0 0 150 25 9 9 20 0 30 0 12345 1 1";
        assertThat(ProcessorTime.millis(stat)).isEqualTo(1_750);
    }

    @Test
    void aProcessThatIsThereHasUsedSome() {
        assertThat(ProcessorTime.millis(ProcessHandle.current())).isPositive();
    }
}
