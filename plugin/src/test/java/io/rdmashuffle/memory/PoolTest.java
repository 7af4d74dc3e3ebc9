// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.slice.Mapping;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
class PoolTest {
    private static final long MIB = 1 << 20;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private long mappingsBefore;

    @BeforeEach
    void countMappings() {
        mappingsBefore = Mapping.live();
    }

    @AfterEach
    void noMappingIsLeft() {
        assertThat(Mapping.live()).isEqualTo(mappingsBefore);
    }

    private Pool pool(long capBytes, long regionBytes) {
        return Pool.create(new PoolSettings(directory, capBytes, 0, regionBytes, false), region -> {});
    }

    private List<Path> files() {
        return TestPools.files(directory);
    }

    private static Lease reserve(Pool pool, long bytes) throws InterruptedException {
        Lease lease = pool.reserve(Purpose.MAP_OUTPUT, bytes, bytes, Duration.ZERO);
        assertThat(lease).isNotNull();
        return lease;
    }

    @Test
    void filesArePrivateAndGoneAfterClose() throws Exception {
        try (Pool pool = pool(4 * MIB, MIB)) {
            reserve(pool, MIB).close();
            assertThat(files())
                    .isNotEmpty()
                    .allSatisfy(file -> assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                            .isEqualTo("rw-------"));
        }
        assertThat(files()).isEmpty();
    }

    @Test
    void writesAreVisibleThroughAnotherMapping() throws Exception {
        try (Pool pool = pool(MIB, MIB);
                Lease lease = reserve(pool, 4096)) {
            lease.memory().putLong(8, 0x1122334455667788L);
            try (Mapping peer = TestPools.mapAsPeer(pool, lease.region().id())) {
                assertThat(peer.memory().getLong(lease.offset() + 8)).isEqualTo(0x1122334455667788L);
            }
        }
    }

    @Test
    void growsRegionByRegionAndNeverBeyondItsCap() throws Exception {
        List<Integer> registered = new ArrayList<>();
        try (Pool pool = Pool.create(
                new PoolSettings(directory, 5 * MIB, 0, 2 * MIB, false), region -> registered.add(region.id()))) {
            List<Lease> leases = new ArrayList<>();
            Lease lease = pool.reserve(Purpose.MAP_OUTPUT, MIB, MIB, Duration.ZERO);
            while (lease != null) {
                leases.add(lease);
                assertThat(pool.usage().capacityBytes()).isLessThanOrEqualTo(5 * MIB);
                lease = pool.reserve(Purpose.MAP_OUTPUT, MIB, MIB, Duration.ZERO);
            }
            assertThat(leases).hasSize(5);
            assertThat(registered).containsExactly(0, 1, 2);
            assertThat(pool.usage().usedBytes()).isEqualTo(5 * MIB);
            leases.forEach(Lease::close);
            assertThat(pool.usage().usedBytes()).isZero();
            assertThat(pool.usage().leases()).isZero();
            assertThat(pool.usage().peakBytes()).isEqualTo(5 * MIB);
        }
    }

    @Test
    void startsWithItsInitialSizeAndGrowsByWholeRegions() throws Exception {
        try (Pool pool = Pool.create(new PoolSettings(directory, 4 * MIB, 75 * 4096 - 1, MIB, false), region -> {})) {
            assertThat(pool.usage().capacityBytes()).isEqualTo(75 * 4096);
            reserve(pool, MIB).close();
            assertThat(pool.usage().capacityBytes()).isEqualTo(75 * 4096 + MIB);
        }
        PoolSettings more = new PoolSettings(directory, 4 * MIB, MIB + MIB / 2, MIB, false);
        try (Pool pool = Pool.create(more, region -> {})) {
            assertThat(pool.usage().capacityBytes()).isEqualTo(MIB + MIB / 2);
            assertThat(pool.usage().regions()).isEqualTo(2);
        }
    }

    @Test
    void settlesForLessOnlyWhenItCannotGrow() throws Exception {
        try (Pool pool = pool(2 * MIB, MIB)) {
            Lease first = reserve(pool, MIB - 4096);
            Lease second = pool.reserve(Purpose.MAP_OUTPUT, 4096, MIB, Duration.ZERO);
            Lease third = pool.reserve(Purpose.MAP_OUTPUT, 4096, MIB, Duration.ZERO);
            assertThat(second).isNotNull();
            assertThat(third).isNotNull();
            assertThat(second.lengthBytes()).isEqualTo(MIB);
            assertThat(third.lengthBytes()).isEqualTo(4096);
            Stream.of(first, second, third).forEach(Lease::close);
        }
    }

    @Test
    void waitsForSomebodyToGiveMemoryBack() throws Exception {
        try (Pool pool = pool(MIB, MIB)) {
            Lease all = reserve(pool, MIB);
            Thread waiting = Thread.currentThread();
            Thread giver = new Thread(() -> {
                while (waiting.getState() != Thread.State.TIMED_WAITING) {
                    Thread.onSpinWait();
                }
                all.close();
            });
            giver.start();
            try (Lease lease = pool.reserve(Purpose.MAP_OUTPUT, MIB, MIB, Duration.ofSeconds(50))) {
                assertThat(lease).isNotNull();
            }
            giver.join(TimeUnit.SECONDS.toMillis(10));
        }
    }

    @Test
    void leasesExtendInPlaceAndGiveTheirTailBack() throws Exception {
        try (Pool pool = pool(MIB, MIB);
                Lease lease = reserve(pool, 4096)) {
            assertThat(lease.extend(8192)).isEqualTo(8192);
            assertThat(lease.lengthBytes()).isEqualTo(12288);
            lease.trim(100);
            assertThat(lease.lengthBytes()).isEqualTo(128);
            assertThat(pool.usage().usedBytes()).isEqualTo(128);
            Lease neighbour = reserve(pool, 64);
            assertThat(lease.extend(64)).isZero();
            neighbour.close();
        }
    }

    @Test
    void aRetiredPoolLeasesNothingThatComesBack() throws Exception {
        try (Pool pool = pool(MIB, MIB);
                Lease kept = reserve(pool, MIB / 2)) {
            reserve(pool, MIB / 4).close();
            pool.retire();
            pool.retire();
            assertThat(kept.extend(FreeExtents.GRANULE_BYTES)).isZero();
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, 1, 1, Duration.ZERO)).isNull();
            kept.memory().putInt(0, 7);
            assertThat(kept.memory().getInt(0)).isEqualTo(7);
        }
    }

    @Test
    void closingTwiceAndUseAfterCloseThrow() throws Exception {
        try (Pool pool = pool(MIB, MIB)) {
            Lease lease = reserve(pool, 64);
            lease.close();
            assertThatThrownBy(lease::close)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("twice");
            assertThatThrownBy(lease::memory).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void closeNamesWhatIsOutstandingAndKeepsItMapped() throws Exception {
        Pool pool = pool(MIB, MIB);
        Lease lease = reserve(pool, 128);
        assertThatThrownBy(pool::close).hasMessageContaining("1 leases").hasMessageContaining("MAP_OUTPUT=128");
        assertThat(files()).isEmpty();
        lease.memory().putInt(0, 7);
        assertThat(Mapping.live()).isEqualTo(mappingsBefore + 1);
        lease.close();
        assertThat(pool.reserve(Purpose.MAP_OUTPUT, 64, 64, Duration.ZERO)).isNull();
    }

    @Test
    void randomLeasesNeverOverlapAndAllComeBack() throws Exception {
        long seed = System.nanoTime();
        System.out.println("PoolTest seed " + seed);
        Random random = new Random(seed);
        try (Pool pool = pool(4 * MIB, MIB)) {
            List<Lease> leases = new ArrayList<>();
            for (int step = 0; step < 20_000; step++) {
                if (leases.isEmpty() || random.nextInt(5) < 3) {
                    long bytes = 1L + random.nextInt(64 * 1024);
                    Lease lease = pool.reserve(Purpose.MAP_OUTPUT, bytes, bytes, Duration.ZERO);
                    if (lease != null) {
                        stamp(lease);
                        leases.add(lease);
                    }
                } else {
                    Lease lease = leases.remove(random.nextInt(leases.size()));
                    assertThat(stamped(lease)).as("seed %d step %d", seed, step).isTrue();
                    lease.close();
                }
                assertThat(pool.usage().usedBytes()).isLessThanOrEqualTo(4 * MIB);
            }
            leases.forEach(Lease::close);
            assertThat(pool.usage().usedBytes()).isZero();
            assertThat(pool.regions())
                    .allSatisfy(region ->
                            assertThat(region.free(Area.OUTPUTS).fragments()).isOne());
        }
    }

    @Test
    void leaseIsLimitedToARegion() throws Exception {
        try (Pool pool = pool(4 * MIB, MIB)) {
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, MIB + 1, MIB + 1, Duration.ofDays(1)))
                    .isNull();
            assertThat(pool.reserve(Purpose.RECEIVE, Long.MAX_VALUE, Long.MAX_VALUE, Duration.ofDays(1)))
                    .as("a length that a peer made up")
                    .isNull();
            try (Lease lease = pool.reserve(Purpose.MAP_OUTPUT, 64, Long.MAX_VALUE, Duration.ZERO)) {
                assertThat(lease).isNotNull();
                assertThat(lease.lengthBytes()).isEqualTo(MIB);
            }
            assertThat(pool.usage().regions()).as("one was enough").isOne();
        }
    }

    @Test
    void failedRegistrationLeavesNothing() throws Exception {
        RegionListener refusing = region -> {
            if (region.id() == 1) {
                throw new NativeException("ibv_reg_mr(length=1048576)", Errno.ENOMEM.number(), "raise RLIMIT_MEMLOCK");
            }
        };
        try (Pool pool = Pool.create(new PoolSettings(directory, 4 * MIB, 0, MIB, false), refusing)) {
            Lease first = reserve(pool, MIB);
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, MIB, MIB, Duration.ZERO))
                    .isNull();
            assertThat(files()).hasSize(1);
            assertThat(Mapping.live()).isEqualTo(mappingsBefore + 1);
            assertThat(pool.usage().capacityBytes()).isEqualTo(MIB);
            first.close();
        }
        assertThatThrownBy(() -> Pool.create(new PoolSettings(directory, MIB, 0, MIB, false), region -> {
                    throw new IllegalStateException("no device");
                }))
                .hasMessage("no device");
        assertThat(files()).isEmpty();
    }

    @Test
    void aClosedLeaseNeitherGrowsNorShrinks() throws Exception {
        try (Pool pool = pool(MIB, MIB)) {
            Lease lease = reserve(pool, 128);
            lease.close();
            assertThatThrownBy(() -> lease.extend(64)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> lease.trim(64)).isInstanceOf(IllegalStateException.class);
            assertThat(pool.usage().usedBytes()).isZero();
        }
    }

    private static void stamp(Lease lease) {
        long mark = System.identityHashCode(lease);
        lease.memory().putLong(0, mark);
        lease.memory().putLong(lease.lengthBytes() - 8, mark);
    }

    private static boolean stamped(Lease lease) {
        long mark = System.identityHashCode(lease);
        return lease.memory().getLong(0) == mark && lease.memory().getLong(lease.lengthBytes() - 8) == mark;
    }
}
