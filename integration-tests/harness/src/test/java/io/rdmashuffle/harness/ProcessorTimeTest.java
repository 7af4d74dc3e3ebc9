// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
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

    @Test
    void threadsAreToldApartByName() throws InterruptedException {
        AtomicBoolean enough = new AtomicBoolean();
        Thread busy = new Thread(
                () -> {
                    while (!enough.get()) {
                        Thread.onSpinWait();
                    }
                },
                "busy-thread");
        busy.start();
        try {
            while (ProcessorTime.millisOfThreads(ProcessHandle.current(), "busy-thread") == 0) {
                Thread.sleep(10);
            }
        } finally {
            enough.set(true);
            busy.join();
        }
        assertThat(ProcessorTime.millisOfThreads(ProcessHandle.current(), "no-such-thread"))
                .isZero();
    }
}
