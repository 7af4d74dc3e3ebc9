// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.verbs.EventChannel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Memory for control messages, which the device reads and writes. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class ControlMemoryTest {
    /** Returns the permissions of the mapping that an address is in, as proc_pid_maps(5) writes them. */
    private static String permissions(long address) throws IOException {
        for (String mapping : Files.readAllLines(Path.of("/proc/self/maps"))) {
            String[] fields = mapping.split("[- ]", 3);
            if (Long.compareUnsigned(Long.parseUnsignedLong(fields[0], 16), address) <= 0
                    && Long.compareUnsigned(Long.parseUnsignedLong(fields[1], 16), address) > 0) {
                return fields[2].substring(0, 4);
            }
        }
        return "not mapped";
    }

    /** A fork has private pages copied when they are written, and the device goes on with the old ones. */
    @Test
    void isSharedWithChildrenOfThisProcess() throws Exception {
        try (FakeRdma rdma = new FakeRdma();
                EventChannel events = EventChannel.open(rdma.library());
                Rail rail = FakeRdma.rail(events, 0)) {
            assertThat(permissions(rail.controlMemory().take().address())).isEqualTo("rw-s");
        }
    }
}
