// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What map outputs cannot take. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PoolSharesTest {
    private static final long MIB = 1 << 20;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @Test
    void reserveIsNotForMapOutputs() throws Exception {
        try (Pool pool = TestPools.create(directory, 4 * MIB, MIB)) {
            Lease table = TestPools.reserve(pool, Purpose.DIRECTORY, 4096);
            pool.setAside(600 << 10, 0);
            List<Lease> all = TestPools.fill(pool);
            assertThat(pool.usage().capacityBytes()).isEqualTo(4 * MIB);
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, 1, 1, Duration.ZERO)).isNull();
            // A quarter of each region until there is enough: of the first, the second, the rest.
            all.add(TestPools.reserve(pool, Purpose.RECEIVE, 255 << 10));
            all.add(TestPools.reserve(pool, Purpose.RECEIVE, 256 << 10));
            all.add(TestPools.reserve(pool, Purpose.RECEIVE, 89 << 10));
            assertThat(pool.reserve(Purpose.RECEIVE, 4096, 4096, Duration.ZERO)).isNull();
            for (Purpose small : List.of(Purpose.INDEX, Purpose.DIRECTORY)) {
                all.add(TestPools.reserve(pool, small, 64 << 10));
                all.add(TestPools.reserve(pool, small, 64 << 10));
            }
            assertThat(pool.usage().usedBytes()).isGreaterThan(4 * MIB - 4096);
            all.forEach(Lease::close);
            table.close();
            assertThat(pool.regions()).allSatisfy(region -> {
                for (Area area : Area.values()) {
                    assertThat(region.free(area).fragments()).isLessThanOrEqualTo(1);
                }
            });
            assertThat(pool.usage().usedBytes()).isZero();
        }
    }

    @Test
    void growingLeaseStopsAtTheReserve() throws Exception {
        try (Pool pool = TestPools.create(directory, MIB, MIB)) {
            pool.setAside(MIB, 0);
            Lease output = pool.reserve(Purpose.MAP_OUTPUT, 64, 64, Duration.ZERO);
            assertThat(output).isNotNull();
            long outputs = MIB - MIB / 4 - MIB / 16;
            assertThat(output.extend(MIB)).isEqualTo(outputs - 64);
            output.trim(64);
            try (Lease read = TestPools.reserve(pool, Purpose.RECEIVE, MIB / 4);
                    Lease other = TestPools.reserve(pool, Purpose.RECEIVE, MIB / 4)) {
                assertThat(read.offset()).isEqualTo(MIB - MIB / 4);
                assertThat(other.offset()).isEqualTo(64);
            }
            output.close();
            assertThatThrownBy(() -> pool.setAside(0, 0)).isInstanceOf(IllegalStateException.class);
        }
    }

    /** A lease as long as a region would have the pool grow to its cap, and find no room in the end. */
    @Test
    void wishesAreCutToWhatIsNotSetAside() throws Exception {
        try (Pool pool = TestPools.create(directory, 4 * MIB, MIB)) {
            pool.setAside(4 * MIB, 0);
            try (Lease lease = pool.reserve(Purpose.MAP_OUTPUT, 64, MIB, Duration.ZERO)) {
                assertThat(lease).isNotNull();
                assertThat(lease.lengthBytes()).isEqualTo(MIB - MIB / 4 - MIB / 16);
            }
            assertThat(pool.reserve(Purpose.RECEIVE, MIB, MIB, Duration.ofDays(1)))
                    .isNull();
            assertThat(pool.usage().regions()).isOne();
        }
    }

    /** The pool grew to its cap for the rest of a granule, and leased it then. */
    @Test
    void reserveIsRoundedToGranules() throws Exception {
        try (Pool pool = TestPools.create(directory, 4 * MIB, MIB)) {
            pool.setAside(1001, 101);
            long outputs = MIB - MIB / 16 - 1024 - 128;
            try (Lease lease = pool.reserve(Purpose.MAP_OUTPUT, 64, MIB, Duration.ZERO);
                    Lease next = pool.reserve(Purpose.MAP_OUTPUT, 64, MIB, Duration.ZERO)) {
                assertThat(lease).isNotNull();
                assertThat(lease.lengthBytes()).isEqualTo(outputs);
                assertThat(next).isNotNull();
                assertThat(next.lengthBytes()).isEqualTo(outputs);
                assertThat(pool.usage().regions()).isEqualTo(2);
            }
        }
    }
}
