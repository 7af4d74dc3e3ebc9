// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.slice.Mapping;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests that idle regions are released, but not regions in use and the initial size. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ShrinkingTest {
    private static final long MIB = 1 << 20;
    private static final Duration IDLE = Duration.ofMinutes(1);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5);
    private final List<String> told = new ArrayList<>();

    /** Records events, also before it fails. */
    private class Listener implements RegionListener {
        @Override
        public void regionAdded(Region region) {
            told.add("+" + region.id());
        }

        @Override
        public void regionRemoved(Region region) {
            told.add("-" + region.id());
        }
    }

    private Pool pool(long initialBytes, RegionListener listener) {
        return Pool.create(new PoolSettings(directory, 8 * MIB, initialBytes, MIB, false), listener, clock::get);
    }

    private void pass(Duration time) {
        clock.addAndGet(time.toNanos());
    }

    private List<Integer> files() {
        return TestPools.files(directory).stream()
                .map(file -> RegionFileName.parse(file.getFileName().toString()))
                .map(name -> name.orElseThrow().regionId())
                .sorted()
                .toList();
    }

    private static List<Lease> wholeRegions(Pool pool, int count) throws InterruptedException {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            leases.add(TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB));
        }
        return leases;
    }

    @Test
    void idleRegionsAreReleasedAndTheirIdsNotReused() throws Exception {
        try (Pool pool = pool(2 * MIB, new Listener())) {
            wholeRegions(pool, 4).forEach(Lease::close);
            pass(IDLE.minusNanos(1));
            assertThat(pool.giveBackIdle(IDLE)).as("too early").isZero();
            pass(Duration.ofNanos(1));
            assertThat(pool.giveBackIdle(IDLE)).isEqualTo(2);
            assertThat(pool.usage().capacityBytes()).isEqualTo(2 * MIB);
            assertThat(pool.usage().regions()).isEqualTo(2);
            assertThat(files()).containsExactly(0, 1);
            wholeRegions(pool, 3).forEach(Lease::close);
            assertThat(told).containsExactly("+0", "+1", "+2", "+3", "-3", "-2", "+4");
            assertThat(pool.regions()).extracting(Region::id).containsExactly(0, 1, 4);
            pass(IDLE);
            assertThat(pool.giveBackIdle(IDLE)).isOne();
            assertThat(pool.giveBackIdle(IDLE)).isZero();
        }
    }

    @Test
    void regionsInUseAndTheFirstOneStay() throws Exception {
        try (Pool pool = pool(0, new Listener())) {
            List<Lease> leases = wholeRegions(pool, 3);
            Lease used = leases.remove(1);
            leases.forEach(Lease::close);
            pass(IDLE);
            assertThat(pool.giveBackIdle(IDLE)).isOne();
            assertThat(pool.regions()).extracting(Region::id).containsExactly(0, 1);
            used.trim(64);
            pass(IDLE);
            assertThat(pool.giveBackIdle(IDLE)).isZero();
            used.close();
            assertThat(pool.giveBackIdle(IDLE)).as("in use until now").isZero();
            pass(IDLE);
            assertThat(pool.giveBackIdle(IDLE)).isOne();
            assertThat(pool.giveBackIdle(IDLE)).isZero();
            assertThat(files()).containsExactly(0);
        }
    }

    @Test
    void reserveIsRestored() throws Exception {
        try (Pool pool = pool(0, new Listener())) {
            pool.setAside(MIB / 2, MIB / 8);
            long fillable = TestPools.fillable(pool);
            long aside = pool.usage().setAsideBytes();
            pass(IDLE);
            assertThat(pool.giveBackIdle(IDLE)).isPositive();
            Lease most = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB / 2);
            TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB / 2).close();
            pass(IDLE);
            assertThat(pool.giveBackIdle(IDLE)).isOne();
            assertThat(pool.usage().setAsideBytes()).isEqualTo(aside);
            most.close();
            assertThat(TestPools.fillable(pool)).isEqualTo(fillable);
            assertThat(pool.usage().setAsideBytes()).isEqualTo(aside);
        }
    }

    @Test
    void readersKeepTheirMappings() throws Exception {
        try (Pool pool = pool(0, new Listener())) {
            Lease first = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB);
            Lease second = TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB);
            second.memory().putLong(8, 77);
            try (Mapping peer = TestPools.mapAsPeer(pool, second.region().id())) {
                second.close();
                pass(IDLE);
                assertThat(pool.giveBackIdle(IDLE)).isOne();
                assertThat(peer.memory().getLong(8)).isEqualTo(77);
            }
            first.close();
        }
    }

    @Test
    void aSweepLeavesAPoolWithGapsAloneWhileItsOwnerLives() throws Exception {
        try (Pool pool = pool(0, new Listener())) {
            List<Lease> leases = wholeRegions(pool, 3);
            leases.remove(1).close();
            pass(IDLE);
            assertThat(pool.giveBackIdle(IDLE)).isOne();
            assertThat(Pool.removeAbandoned(directory)).isZero();
            assertThat(files()).containsExactly(0, 2);
            leases.forEach(Lease::close);
        }
        assertThat(files()).isEmpty();
    }

    @Test
    void regionKeptByAFabricIsRetiredWithAWarning() throws Exception {
        RegionListener keeping = new Listener() {
            @Override
            public void regionRemoved(Region region) {
                throw new NativeException("ibv_dereg_mr()", Errno.EBUSY.number(), "");
            }
        };
        try (LoggedLines lines = LoggedLines.of(Shrinking.class);
                Pool pool = pool(0, keeping)) {
            wholeRegions(pool, 3).forEach(Lease::close);
            pass(IDLE);
            assertThat(pool.giveBackIdle(IDLE)).isZero();
            assertThat(pool.giveBackIdle(IDLE)).isZero();
            assertThat(lines.all()).singleElement().asString().contains("pool.idleTimeout");
            assertThat(pool.usage().capacityBytes()).as("it still takes room").isEqualTo(3 * MIB);
            List<Lease> all = TestPools.fill(pool);
            assertThat(all).noneMatch(lease -> lease.region().id() == 2);
            assertThat(pool.usage().capacityBytes()).isEqualTo(8 * MIB);
            all.forEach(Lease::close);
        }
    }

    @Test
    void releasesRegionsHoweverManyThereHaveBeen() throws Exception {
        PoolSettings small = new PoolSettings(directory, 8192, 4096, 4096, false);
        try (Pool pool = Pool.create(small, region -> {}, clock::get)) {
            Lease first = TestPools.reserve(pool, Purpose.MAP_OUTPUT, 4096);
            for (int i = 1; i <= 5000; i++) {
                Lease second = TestPools.reserve(pool, Purpose.MAP_OUTPUT, 4096);
                assertThat(second.region().id()).isEqualTo(i);
                second.close();
                assertThat(pool.giveBackIdle(Duration.ZERO)).as("region %d", i).isOne();
            }
            first.close();
        }
    }

    /** Of regions of which nothing is leased. */
    private static final class NoLeases implements Lease.Owner {
        @Override
        public long extend(Lease lease, long bytes) {
            throw new AssertionError(lease);
        }

        @Override
        public void releaseTail(Lease lease, long offset, long bytes) {
            throw new AssertionError(lease);
        }

        @Override
        public void release(Lease lease) {
            throw new AssertionError(lease);
        }

        @Override
        public long granuleBytes() {
            return FreeExtents.GRANULE_BYTES;
        }
    }

    @Test
    void warnsOnceWhenIdsRunOut() {
        PoolSettings small = new PoolSettings(directory, 4 * 4096, 4096, 4096, false);
        Regions regions = new Regions(small, new NoLeases(), clock::get);
        try (LoggedLines lines = LoggedLines.of(Shrinking.class);
                RegionFactory factory = new RegionFactory(small, region -> {})) {
            Shrinking shrinking = new Shrinking(small, new ReentrantLock(), regions, factory, 4);
            for (int id = 0; id < 3; id++) {
                regions.add(factory.create(id, 4096, 4096));
            }
            assertThat(shrinking.giveBack(Duration.ZERO)).isEqualTo(2);
            regions.add(factory.create(3, 4096, 4096));
            assertThat(shrinking.giveBack(Duration.ZERO)).isZero();
            assertThat(shrinking.giveBack(Duration.ZERO)).isZero();
            assertThat(lines.all()).singleElement().asString().contains("4 region ids", "pool.idleTimeout");
        } finally {
            regions.close();
        }
    }

    @Test
    void thePoolsEndWaitsForARemovalThatHasBegun() throws Exception {
        CountDownLatch removing = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        RegionListener slow = new Listener() {
            @Override
            public void regionRemoved(Region region) {
                removing.countDown();
                try {
                    assertThat(mayEnd.await(30, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                super.regionRemoved(region);
            }
        };
        try (Pool pool = pool(0, slow)) {
            wholeRegions(pool, 3).forEach(Lease::close);
            CompletableFuture<Integer> givingBack =
                    CompletableFuture.supplyAsync(() -> pool.giveBackIdle(Duration.ZERO));
            assertThat(removing.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(pool.giveBackIdle(Duration.ZERO)).as("one at a time").isZero();
            TestPools.reserve(pool, Purpose.MAP_OUTPUT, MIB).close();
            CompletableFuture<Void> retiring = CompletableFuture.runAsync(pool::retire);
            Lease before = pool.reserve(Purpose.MAP_OUTPUT, 64, 64, WaitPolicy.NONE);
            while (before != null) {
                before.close();
                before = pool.reserve(Purpose.MAP_OUTPUT, 64, 64, WaitPolicy.NONE);
            }
            assertThat(retiring).isNotDone();
            mayEnd.countDown();
            retiring.get(30, TimeUnit.SECONDS);
            assertThat(givingBack.get(30, TimeUnit.SECONDS))
                    .as("no other one after it")
                    .isOne();
            assertThat(told).containsExactly("+0", "+1", "+2", "-2");
        }
    }

    /** Leases come and go while regions do: whoever has a lease has its bytes, and the cap holds. */
    @Test
    void leasesAreTakenWhileRegionsAreWithdrawn() throws Exception {
        long seed = System.nanoTime();
        System.out.println("ShrinkingTest seed " + seed);
        AtomicBoolean done = new AtomicBoolean();
        AtomicReference<Throwable> ofGrowth = new AtomicReference<>();
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> ofGrowth.compareAndSet(null, failure));
        PoolSettings small = new PoolSettings(directory, 128 << 10, 16 << 10, 16 << 10, false);
        try (Pool pool = Pool.create(small, region -> {}, clock::get)) {
            List<CompletableFuture<Integer>> tasks = new ArrayList<>();
            for (int task = 0; task < 3; task++) {
                Random random = new Random(seed + task);
                tasks.add(CompletableFuture.supplyAsync(
                        () -> leaseAndCompare(pool, random, done), own -> new Thread(own).start()));
            }
            int given = 0;
            // Until that many: the tasks may not have begun yet.
            while (given < 200 && tasks.stream().noneMatch(CompletableFuture::isDone)) {
                given += pool.giveBackIdle(Duration.ZERO);
                assertThat(pool.usage().capacityBytes()).isLessThanOrEqualTo(128 << 10);
            }
            done.set(true);
            for (CompletableFuture<Integer> task : tasks) {
                assertThat(task.get(30, TimeUnit.SECONDS)).as("seed %d", seed).isPositive();
            }
            assertThat(given).as("seed %d", seed).isGreaterThanOrEqualTo(200);
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(before);
        }
        assertThat(ofGrowth.get()).as("seed %d", seed).isNull();
    }

    private static int leaseAndCompare(Pool pool, Random random, AtomicBoolean done) {
        int leases = 0;
        List<Lease> held = new ArrayList<>();
        try {
            while (!done.get() || leases == 0) {
                long bytes = 64L + random.nextInt(12 << 10);
                Lease lease = pool.reserve(Purpose.MAP_OUTPUT, bytes, bytes, WaitPolicy.GROWTH);
                if (lease != null) {
                    leases++;
                    lease.memory().putLong(0, leases);
                    lease.memory().putLong(lease.lengthBytes() - 8, System.identityHashCode(lease));
                    held.add(lease);
                }
                while (held.size() > random.nextInt(4)) {
                    Lease oldest = held.remove(0);
                    long end = oldest.memory().getLong(oldest.lengthBytes() - 8);
                    assertThat(end).isEqualTo(System.identityHashCode(oldest));
                    oldest.close();
                }
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        held.forEach(Lease::close);
        return leases;
    }
}
