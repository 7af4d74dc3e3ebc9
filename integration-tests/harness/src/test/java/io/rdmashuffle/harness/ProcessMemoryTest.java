// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ProcessMemoryTest {
    @Test
    void lineOfTheKernelIsInKibibytes() {
        assertThat(ProcessMemory.bytes("Pss:              123456 kB")).isEqualTo(123_456L * 1024);
    }

    @Test
    void thisProcessHoldsSomeAndItsExecutorsNone() {
        assertThat(ProcessMemory.bytes(ProcessHandle.current())).isGreaterThan(1L << 20);
        assertThat(ProcessMemory.bytesOfExecutors(ProcessHandle.current())).isZero();
    }
}
