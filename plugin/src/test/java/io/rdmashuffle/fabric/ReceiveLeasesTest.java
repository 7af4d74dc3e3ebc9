// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ReceiveLeasesTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    /** With 200 peers, each fetch would wait; here a thousand would take a quarter of an hour. */
    @Test
    void aFullPoolIsWaitedForOnceAndUsedAsSoonAsThereIsRoom() throws Exception {
        try (Pool pool = TestPools.create(directory, 1 << 20, 1 << 20)) {
            List<Lease> all = TestPools.fill(pool);
            ReceiveLeases leases = new ReceiveLeases(pool, Duration.ofSeconds(1));
            for (int fetch = 0; fetch < 1000; fetch++) {
                assertThat(leases.reserve(64)).isNull();
            }
            all.remove(0).close();
            try (Lease lease = leases.reserve(64)) {
                assertThat(lease).isNotNull();
            }
            all.forEach(Lease::close);
        }
    }
}
