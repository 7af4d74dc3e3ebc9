// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Use of the memory of large pools by map outputs of any size. */
@Tag("unit")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class PoolFillTest {
    private static final long MIB = 1 << 20;
    private static final long GIB = 1 << 30;
    private static final long LEAST_LEASE = 64 << 10;

    /** Of the defaults of {@code fabric.maxBytesInFlight}, where a fabric copies. */
    private static final long READ_BYTES = 48 * MIB;

    private static final long STAGING_BYTES = 12 * MIB;

    @TempDir
    Path directory;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);

    private Pool pool(long capBytes) {
        return pool(
                capBytes,
                ShuffleConfig.read(Map.of("spark.shuffle.rdma.pool.maxSize", capBytes + "b"))
                        .get(ShuffleConfig.POOL_REGION_SIZE));
    }

    private Pool pool(long capBytes, long regionBytes) {
        PoolSettings settings = new PoolSettings(directory, capBytes, 64 * MIB, regionBytes, false);
        return Pool.create(settings, new SparseRegions(settings), System::nanoTime);
    }

    /** Leases outputs of given sizes until a byte of one lies on disk; returns the leases in memory. */
    private static List<Lease> fill(TieredPool pool, LongSupplier sizes) throws InterruptedException {
        List<Lease> inMemory = new ArrayList<>();
        while (true) {
            long missing = sizes.getAsLong();
            if (missing == 0) {
                return inMemory;
            }
            while (missing > 0) {
                Lease lease =
                        pool.reserve(Purpose.MAP_OUTPUT, Math.min(missing, LEAST_LEASE), missing, WaitPolicy.GROWTH);
                if (lease == null || Region.isOnDisk(lease.region().id())) {
                    if (lease != null) {
                        lease.close();
                    }
                    return inMemory;
                }
                inMemory.add(lease);
                missing -= lease.lengthBytes();
            }
        }
    }

    /** @param copies whether a fabric copies, so that reads and staging have shares of their own */
    private void assertFills(long capBytes, boolean copies, LongSupplier sizes, String what)
            throws InterruptedException {
        try (Pool memory = pool(capBytes);
                DiskTier disk = TestPools.diskTier(0, directory)) {
            memory.setAside(copies ? READ_BYTES : 0, copies ? STAGING_BYTES : 0);
            List<Lease> leases = fill(new TieredPool(memory, disk), sizes);
            PoolUsage usage = memory.usage();
            assertThat(usage.capacityBytes()).as(what).isLessThanOrEqualTo(capBytes);
            long room = usage.capBytes() - usage.setAsideBytes();
            assertThat((double) usage.usedBytes())
                    .as(
                            "%s in a pool of %d GiB, of which map outputs may take %d MiB",
                            what, capBytes / GIB, room / MIB)
                    .isGreaterThanOrEqualTo(0.99 * room);
            // Of 1 GiB, shares of 48 and 12 MiB leave 88 %.
            if (!copies || capBytes > 2 * GIB) {
                assertThat((double) usage.usedBytes()).as(what).isGreaterThanOrEqualTo(0.9 * capBytes);
            }
            leases.forEach(Lease::close);
            assertThat(memory.usage().usedBytes()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 40, 400})
    void outputsOfAnySizeFillMemoryBeforeDisk(long gibibytes) throws Exception {
        long cap = gibibytes * GIB;
        // The smallest ones only where their leases are few enough for a test.
        for (long mebibytes : List.of(1L, 10L, 133L, 250L, 700L, 1_300L, 5_000L, 10_240L)) {
            if (cap / MIB / mebibytes <= 50_000) {
                assertFills(cap, true, () -> mebibytes * MIB, mebibytes + " MiB each");
                assertFills(cap, false, () -> mebibytes * MIB, mebibytes + " MiB each");
            }
        }
        LongSupplier anySize = () -> (long) (MIB * Math.exp(random.nextDouble() * Math.log(10_240)));
        assertFills(cap, true, anySize, "any size, seed " + seed);
        assertFills(cap, false, anySize, "any size, seed " + seed);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 40, 400})
    void poolHasTensOfRegionsWhenFull(long gibibytes) throws Exception {
        try (Pool memory = pool(gibibytes * GIB)) {
            List<Lease> leases = fill(TieredPool.of(memory), () -> 100 * MIB);
            assertThat(memory.usage().capacityBytes()).isEqualTo(gibibytes * GIB);
            assertThat(memory.usage().regions()).isBetween(4, 64);
            leases.forEach(Lease::close);
        }
    }

    /** Waits of a task for growth are proportional to the memory in use. */
    @Test
    void poolGrowsByWhatItHasUpToARegion() throws Exception {
        try (Pool memory = pool(40 * GIB, 2 * GIB)) {
            List<Lease> leases = fill(TieredPool.of(memory), countdown(100, 64 * MIB));
            assertThat(memory.regions())
                    .extracting(region -> region.memory().lengthBytes() / MIB)
                    .containsExactly(64L, 256L, 320L, 640L, 1280L, 2048L, 2048L);
            leases.forEach(Lease::close);
        }
    }

    /** Supplies a size several times, then 0. */
    private static LongSupplier countdown(int times, long bytes) {
        int[] left = {times};
        return () -> left[0]-- > 0 ? bytes : 0;
    }

    @Test
    void growsAtOnceToHoldWhatIsWanted() throws Exception {
        try (Pool memory = pool(40 * GIB, 8 * GIB)) {
            memory.setAside(READ_BYTES, STAGING_BYTES);
            try (Lease lease = reserve(memory, Purpose.RECEIVE, 3 * GIB, 3 * GIB)) {
                assertThat(lease.lengthBytes()).isEqualTo(3 * GIB);
                assertThat(memory.usage().regions()).isEqualTo(2);
            }
        }
    }

    private static Lease reserve(Pool memory, Purpose purpose, long minimum, long preferred)
            throws InterruptedException {
        @Nullable Lease lease = memory.reserve(purpose, minimum, preferred, WaitPolicy.GROWTH);
        assertThat(lease).isNotNull();
        return lease;
    }

    /** One lock guards the regions: a scan of 1,600 of them took 105 to 537 us of every lease of an executor. */
    @ParameterizedTest
    @ValueSource(ints = {16, 1_600})
    void aLeaseVisitsOneRegionHoweverManyThereAre(int regions) throws Exception {
        PoolSettings settings = new PoolSettings(directory, regions * MIB, regions * MIB, MIB, false);
        try (Pool memory = Pool.create(settings, new SparseRegions(settings), System::nanoTime)) {
            memory.setAside(MIB, MIB);
            List<Lease> leases = new ArrayList<>();
            for (int i = 0; i < regions; i++) {
                leases.add(reserve(memory, Purpose.MAP_OUTPUT, MIB / 2, MIB / 2));
            }
            assertThat(memory.visits()).isLessThanOrEqualTo(regions);
            long before = memory.visits();
            for (int i = 0; i < 1_000; i++) {
                Lease lease = leases.get(random.nextInt(regions));
                leases.remove(lease);
                lease.close();
                leases.add(reserve(memory, Purpose.MAP_OUTPUT, MIB / 2, MIB / 2));
                reserve(memory, Purpose.INDEX, 4096, 4096).close();
            }
            assertThat(memory.visits() - before).as("seed %d", seed).isLessThanOrEqualTo(4_000);
            long full = memory.visits();
            assertThat(memory.reserve(Purpose.MAP_OUTPUT, MIB / 2, MIB / 2, WaitPolicy.NONE))
                    .isNull();
            assertThat(memory.visits() - full).as("when there is no room").isLessThanOrEqualTo(2);
            leases.forEach(Lease::close);
        }
    }
}
