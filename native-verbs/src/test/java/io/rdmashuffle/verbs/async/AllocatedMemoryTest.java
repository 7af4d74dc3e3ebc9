// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.verbs.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Memory that an endpoint allocates for its user. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class AllocatedMemoryTest {
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
        try (ScriptedDevice device = new ScriptedDevice();
                RdmaEndpoint endpoint = device.open(EndpointOptions.DEFAULT);
                LocalRegion region = endpoint.allocate(64)) {
            assertThat(permissions(region.describe().address())).isEqualTo("rw-s");
        }
    }
}
