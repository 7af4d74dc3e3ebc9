// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Writes of given lengths and times. */
@Tag("unit")
class DiskPaceTest {
    private static final int WRITE_BYTES = 256 << 10;

    private final DiskPace pace = new DiskPace();

    private void write(int megabytes, double nanosPerByte) {
        for (int i = 0; i < megabytes * 4; i++) {
            pace.wrote(WRITE_BYTES, (long) (WRITE_BYTES * nanosPerByte));
        }
    }

    @Test
    void nothingWrittenCostsNothing() {
        pace.wrote(0, 1_000_000);
        assertThat(pace.nanosPerByte()).isZero();
    }

    @Test
    void waitingIsBelievedSoonAndForgottenSlowly() {
        write(500, 0.5);
        assertThat(pace.nanosPerByte()).isEqualTo(0.5, within(0.05));
        write(100, 20);
        assertThat(pace.nanosPerByte()).isBetween(15.0, 20.0);
        write(100, 0.5);
        assertThat(pace.nanosPerByte()).as("the page cache of the next stage").isGreaterThan(12);
        write(5_000, 0.5);
        assertThat(pace.nanosPerByte()).isEqualTo(0.5, within(0.2));
    }

    @Test
    void oneSlowWriteIsNotASlowDisk() {
        write(100, 0.5);
        pace.wrote(WRITE_BYTES, 5_000_000);
        assertThat(pace.nanosPerByte()).isLessThan(1);
    }
}
