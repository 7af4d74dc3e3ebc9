// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of waiting reservations when others release memory, or when none is left. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PoolReturnsTest {
    private static final long MIB = 1 << 20;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    /** Starts a reservation on a thread of its own and returns when it waits. */
    private static CompletableFuture<@Nullable Lease> waiting(Pool pool, long minimum, long preferred) {
        CompletableFuture<@Nullable Lease> answer = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                answer.complete(pool.reserve(Purpose.RECEIVE, minimum, preferred, Duration.ofDays(1)));
            } catch (InterruptedException | RuntimeException e) {
                answer.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        return answer;
    }

    private static @Nullable Lease got(CompletableFuture<@Nullable Lease> waiting) throws Exception {
        return waiting.get(30, TimeUnit.SECONDS);
    }

    @Test
    void theTailOfALeaseIsHandedToThoseWhoWait() throws Exception {
        try (Pool pool = TestPools.create(directory, MIB, MIB);
                Lease all = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB)) {
            CompletableFuture<@Nullable Lease> waiting = waiting(pool, MIB / 2, MIB / 2);
            all.trim(MIB / 2);
            Lease half = got(waiting);
            assertThat(half).isNotNull();
            assertThat(half.offset()).isEqualTo(MIB / 2);
            half.close();
        }
    }

    @Test
    void fullPoolGrantsAPartialLease() throws Exception {
        try (Pool pool = TestPools.create(directory, MIB, MIB)) {
            Lease quarter = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB / 4);
            Lease rest = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB - MIB / 4);
            CompletableFuture<@Nullable Lease> waiting = waiting(pool, MIB / 8, MIB / 2);
            quarter.close();
            Lease given = got(waiting);
            assertThat(given).isNotNull();
            assertThat(given.lengthBytes()).isEqualTo(MIB / 4);
            given.close();
            rest.close();
        }
    }

    @Test
    void retiringPoolEndsWaits() throws Exception {
        try (Pool pool = TestPools.create(directory, MIB, MIB);
                Lease all = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB)) {
            CompletableFuture<@Nullable Lease> waiting = waiting(pool, 64, 64);
            pool.retire();
            assertThat(got(waiting)).isNull();
            assertThat(all.lengthBytes()).isEqualTo(MIB);
        }
    }

    @Test
    void requestsOfMapOutputsThatFindNoRoomAreCounted() throws Exception {
        try (Pool pool = TestPools.create(directory, MIB, MIB);
                Lease all = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB)) {
            assertThat(all.lengthBytes()).isEqualTo(MIB);
            assertThat(pool.usage().refusals()).isZero();
            assertThat(pool.reserve(Purpose.RECEIVE, 64, 64, WaitPolicy.NONE)).isNull();
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, 64, 64, WaitPolicy.NONE))
                    .isNull();
            assertThat(pool.usage().refusals()).isEqualTo(1);
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, 2 * MIB, 2 * MIB, WaitPolicy.NONE))
                    .as("longer than the pool")
                    .isNull();
            assertThat(pool.usage().refusals()).isEqualTo(2);
        }
    }

    @Test
    void closingPoolEndsWaits() throws Exception {
        Pool pool = TestPools.create(directory, MIB, MIB);
        Lease all = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB);
        CompletableFuture<@Nullable Lease> waiting = waiting(pool, 64, 64);
        assertThatThrownBy(pool::close).isInstanceOf(IllegalStateException.class);
        assertThat(got(waiting)).isNull();
        pool.close();
        all.close();
    }

    @Test
    void usageTellsWhatIsLeasedForWhatAndWhatWasAtMost() throws Exception {
        try (Pool pool = TestPools.create(directory, 2 * MIB, MIB)) {
            assertThat(pool.usage()).isEqualTo(new PoolUsage(2 * MIB, MIB, 0, 0, 0, 1, 0, 0, Map.of()));
            Lease index = TestPools.reserve(pool, Purpose.INDEX, 100);
            Lease output = TestPools.reserve(pool, Purpose.MAP_OUTPUT, 4096);
            Lease other = TestPools.reserve(pool, Purpose.MAP_OUTPUT, 64);
            assertThat(pool.usage())
                    .isEqualTo(new PoolUsage(
                            2 * MIB,
                            MIB,
                            4288,
                            4288,
                            3,
                            1,
                            0,
                            0,
                            Map.of(Purpose.INDEX, 128L, Purpose.MAP_OUTPUT, 4160L)));
            output.trim(64);
            assertThat(other.extend(1000)).isEqualTo(1024);
            index.close();
            assertThat(pool.usage())
                    .isEqualTo(new PoolUsage(2 * MIB, MIB, 1152, 4288, 2, 1, 0, 0, Map.of(Purpose.MAP_OUTPUT, 1152L)));
            output.close();
            other.close();
            assertThat(pool.usage()).isEqualTo(new PoolUsage(2 * MIB, MIB, 0, 4288, 0, 1, 0, 0, Map.of()));
        }
    }

    @Test
    void reserveIsCountedAcrossRegions() throws Exception {
        try (Pool pool = TestPools.create(directory, 3 * MIB, MIB)) {
            pool.setAside(MIB / 4 + 4096, MIB / 32);
            long metadata = MIB / 16;
            long first = metadata + MIB / 4 + MIB / 32;
            assertThat(pool.usage().setAsideBytes())
                    .as("regions to come included")
                    .isEqualTo(first + metadata + 4096 + metadata);
            TestPools.fill(pool).forEach(Lease::close);
            assertThat(pool.usage().regions()).isEqualTo(3);
            assertThat(pool.usage().setAsideBytes()).isEqualTo(first + metadata + 4096 + metadata);
            Region region = pool.regions().get(0);
            assertThat(region.lengthBytes(Area.METADATA)).isEqualTo(metadata);
            assertThat(region.lengthBytes(Area.READS)).isEqualTo(MIB / 4);
            assertThat(region.lengthBytes(Area.STAGING)).isEqualTo(MIB / 32);
            assertThat(region.lengthBytes(Area.OUTPUTS)).isEqualTo(MIB - first);
            long outputs = MIB - first;
            assertThat(region.areaOf(outputs - 64)).isEqualTo(Area.OUTPUTS);
            assertThat(region.areaOf(outputs)).isEqualTo(Area.METADATA);
            assertThat(region.areaOf(outputs + metadata)).isEqualTo(Area.STAGING);
            assertThat(region.areaOf(MIB - MIB / 4 - 64)).isEqualTo(Area.STAGING);
            assertThat(region.areaOf(MIB - MIB / 4)).isEqualTo(Area.READS);
        }
    }

    @Test
    void eachPurposeHasAnAreaOfItsOwnWhenOutputsFillTheRest() throws Exception {
        try (Pool pool = TestPools.create(directory, MIB, MIB)) {
            pool.setAside(MIB / 8, MIB / 32);
            var outputs = TestPools.fill(pool);
            Region region = pool.regions().get(0);
            for (Purpose purpose : Purpose.values()) {
                Lease lease = pool.reserve(purpose, 64, 64, WaitPolicy.NONE);
                switch (purpose) {
                    case MAP_OUTPUT -> assertThat(lease).isNull();
                    case INDEX, DIRECTORY -> assertArea(region, lease, Area.METADATA);
                    case RECEIVE -> assertArea(region, lease, Area.READS);
                    case STAGING -> assertArea(region, lease, Area.STAGING);
                }
            }
            outputs.forEach(Lease::close);
            assertThat(pool.usage().usedByPurpose()).isEmpty();
        }
    }

    private static void assertArea(Region region, @Nullable Lease lease, Area area) {
        assertThat(lease).isNotNull();
        assertThat(region.areaOf(lease.offset())).isEqualTo(area);
        long free = region.free(area).freeBytes();
        lease.close();
        assertThat(region.free(area).freeBytes()).isEqualTo(free + lease.lengthBytes());
    }

    /** The host had no room at the last attempt; now it has at least the released bytes. */
    @Test
    void aPoolThatGivesRegionsBackMayGrowAgainAtOnce() throws Exception {
        AtomicLong clock = new AtomicLong();
        AtomicBoolean refusing = new AtomicBoolean();
        RegionListener listener = region -> {
            if (refusing.get()) {
                throw new NativeException("ibv_reg_mr()", Errno.ENOMEM.number(), "");
            }
        };
        PoolSettings settings = new PoolSettings(directory, 4 * MIB, 0, MIB, false);
        try (Pool pool = Pool.create(settings, listener, clock::get)) {
            Lease first = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB);
            Lease second = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB);
            refusing.set(true);
            assertThat(pool.reserve(Purpose.MAP_OUTPUT, MIB, MIB, WaitPolicy.GROWTH))
                    .isNull();
            refusing.set(false);
            assertThat(pool.usage().capBytes()).as("it could not grow").isEqualTo(2 * MIB);
            assertThat(pool.giveBackIdle(Duration.ZERO)).isZero();
            assertThat(pool.usage().capBytes()).as("nothing has changed").isEqualTo(2 * MIB);
            second.close();
            assertThat(pool.giveBackIdle(Duration.ZERO)).isOne();
            assertThat(pool.usage().capBytes()).isEqualTo(4 * MIB);
            second = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB);
            assertThat(second.region().id()).isEqualTo(2);
            first.close();
            second.close();
        }
    }

    @Test
    void aLeaseIsWhatWasAskedForAndIsClosedOnce() throws Exception {
        try (Pool pool = TestPools.create(directory, MIB, MIB)) {
            Lease lease = TestPools.reserve(pool, Purpose.INDEX, 65);
            assertThat(lease.purpose()).isEqualTo(Purpose.INDEX);
            assertThat(lease.lengthBytes()).isEqualTo(128);
            assertThat(lease.bytes()).isEqualTo(lease.memory());
            lease.trim(128);
            assertThat(lease.lengthBytes()).isEqualTo(128);
            lease.trim(200);
            assertThat(lease.lengthBytes()).isEqualTo(128);
            lease.trim(0);
            assertThat(lease.lengthBytes()).isEqualTo(64);
            assertThat(lease.extend(0)).isZero();
            lease.close();
            assertThatThrownBy(lease::bytes)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("INDEX");
            assertThatThrownBy(lease::memory).isInstanceOf(IllegalStateException.class);
        }
    }
}
