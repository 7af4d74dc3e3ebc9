// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Which map outputs move to disk and when, and when the memory that they leave is free. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DemotionTest {
    private static final long CAP_BYTES = 1 << 20;
    private static final int OUTPUT_BYTES = 100_000;
    private static final int PARTITIONS = 4;
    private static final Duration GRACE = Duration.ofSeconds(40);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @TempDir
    Path local;

    private final Random random = new Random(5);
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 1000);
    private final ShuffleCounters counters = new ShuffleCounters();
    private final Map<Integer, byte[][]> written = new HashMap<>();
    private Pool memory;
    private TieredPool pool;
    private MapOutputStore store;
    private long emptyBytes;

    @BeforeEach
    void open() throws Exception {
        memory = TestPools.create(directory, CAP_BYTES, CAP_BYTES);
        pool = new TieredPool(memory, TestPools.diskTier(0, local));
        store = TestStores.create(MapOutputDirectory.create(memory, 16, UUID.randomUUID()), counters, clock::get);
        emptyBytes = memory.usage().usedBytes();
    }

    @AfterEach
    void close() {
        store.close();
        assertThat(memory.usage().leases()).isZero();
        memory.close();
        disk().close();
    }

    private DiskTier disk() {
        return Objects.requireNonNull(pool.disk());
    }

    private Demotion demotion() {
        return new Demotion(pool, store, counters, 81, GRACE);
    }

    private void pass(Duration time) {
        clock.addAndGet(time.toNanos());
    }

    /** Has a task write the one output of a shuffle. */
    private void write(int shuffleId) throws Exception {
        byte[][] content = new byte[PARTITIONS][OUTPUT_BYTES / PARTITIONS];
        for (byte[] partition : content) {
            random.nextBytes(partition);
        }
        written.put(shuffleId, content);
        store.add(shuffleId, store.epoch(shuffleId), TestStores.write(pool, shuffleId, content));
    }

    /** Fills the pool above its high-water mark; the last shuffle is just being written. */
    private void fill() throws Exception {
        for (int shuffleId = 1; shuffleId <= 9; shuffleId++) {
            pass(Duration.ofSeconds(11));
            write(shuffleId);
        }
    }

    private Place placeOf(int shuffleId) {
        MapOutput output = Objects.requireNonNull(store.acquire(shuffleId, shuffleId));
        output.release();
        return output.entry().place();
    }

    private void assertReadable(int shuffleId) throws Exception {
        MapOutput output = Objects.requireNonNull(store.acquire(shuffleId, shuffleId));
        try {
            for (int p = 0; p < PARTITIONS; p++) {
                assertThat(output.block(p).isIntact()).isTrue();
                assertThat(TestOutput.join(output.block(p).pieces()))
                        .isEqualTo(written.getOrDefault(shuffleId, new byte[PARTITIONS][])[p]);
            }
            assertThat(output.stored(0, PARTITIONS).isIntact()).isTrue();
        } finally {
            output.release();
        }
    }

    private long counted(ShuffleCounter counter) {
        return counters.snapshot().getOrDefault(counter, 0L);
    }

    @Test
    void oldestOutputsAreDemoted() throws Exception {
        fill();
        long used = memory.usage().usedBytes();
        Demotion demotion = demotion();
        demotion.run();
        assertThat(List.of(placeOf(1), placeOf(2), placeOf(3))).containsOnly(Place.DISK);
        assertThat(List.of(placeOf(4), placeOf(8), placeOf(9))).containsOnly(Place.POOL);
        assertThat(memory.usage().usedBytes()).as("readers may be there").isEqualTo(used);
        demotion.run();
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_DEMOTED))
                .as("no more than needed")
                .isEqualTo(3);
        assertThat(counted(ShuffleCounter.DEMOTED_BYTES)).isBetween(300_000L, 310_000L);
        for (int shuffleId = 1; shuffleId <= 9; shuffleId++) {
            assertReadable(shuffleId);
        }
        pass(GRACE.minusNanos(1));
        demotion.run();
        assertThat(memory.usage().usedBytes()).isEqualTo(used);
        pass(Duration.ofNanos(1));
        demotion.run();
        assertThat(memory.usage().usedBytes()).isLessThanOrEqualTo(CAP_BYTES * 70 / 100 + emptyBytes);
        assertReadable(1);
        for (int shuffleId = 1; shuffleId <= 3; shuffleId++) {
            store.removeShuffle(shuffleId);
        }
        assertThat(disk().usage().usedBytes()).isZero();
    }

    @Test
    void nothingMovesWhileNoOtherShuffleIsWritten() throws Exception {
        fill();
        pass(Demotion.QUIET);
        demotion().run();
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_DEMOTED)).isZero();
        write(9);
        demotion().run();
        assertThat(placeOf(1)).isEqualTo(Place.DISK);
        assertThat(placeOf(9)).as("the one that is written").isEqualTo(Place.POOL);
    }

    @Test
    void nothingMovesBelowTheMark() throws Exception {
        for (int shuffleId = 1; shuffleId <= 8; shuffleId++) {
            pass(Duration.ofSeconds(11));
            write(shuffleId);
        }
        demotion().run();
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_DEMOTED)).isZero();
        assertThat(disk().usage().leases()).isZero();
    }

    /** Indexes, reads and staging have areas of their own, which map outputs cannot take. */
    @Test
    void memoryOfOthersDoesNotCount() throws Exception {
        memory.setAside(CAP_BYTES / 8, CAP_BYTES / 16);
        for (int shuffleId = 1; shuffleId <= 6; shuffleId++) {
            pass(Duration.ofSeconds(11));
            write(shuffleId);
        }
        Lease indexes = TestPools.reserve(memory, Purpose.INDEX, CAP_BYTES / 32);
        Lease staged = TestPools.reserve(memory, Purpose.STAGING, CAP_BYTES / 32);
        Lease read = TestPools.reserve(memory, Purpose.RECEIVE, CAP_BYTES / 16);
        demotion().run();
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_DEMOTED)).isZero();
        Stream.of(indexes, staged, read).forEach(Lease::close);
    }

    @Test
    void aShuffleThatIsRemovedFreesBothPlacesAtOnce() throws Exception {
        fill();
        demotion().run();
        MapOutput reading = Objects.requireNonNull(store.acquire(2, 2));
        for (int shuffleId = 1; shuffleId <= 9; shuffleId++) {
            store.removeShuffle(shuffleId);
        }
        assertThat(memory.usage().usedBytes()).isEqualTo(emptyBytes);
        assertThat(disk().usage().leases())
                .as("data and index that are being read")
                .isEqualTo(2);
        assertThat(reading.block(0).isIntact()).isTrue();
        reading.release();
        assertThat(disk().usage().leases()).isZero();
        demotion().run();
    }

    @Test
    void aShuffleThatIsRemovedWhileItIsCopiedLeavesNoCopy() throws Exception {
        write(1);
        MapOutput output = store.inMemory(1).get(0);
        assertThat(output.retain()).isTrue();
        MapOutput copy = Objects.requireNonNull(DiskCopy.of(output, pool));
        store.removeShuffle(1);
        write(1);
        assertThat(store.replace(1, output, copy)).isFalse();
        output.release();
        assertThat(disk().usage().leases()).isZero();
        assertThat(placeOf(1)).isEqualTo(Place.POOL);
        assertReadable(1);
    }

    @Test
    void localReadersKeepTheMemory() throws Exception {
        fill();
        MapOutput reading = Objects.requireNonNull(store.acquire(1, 1));
        demotion().run();
        pass(GRACE);
        demotion().run();
        assertThat(reading.block(0).isIntact()).isTrue();
        assertThat(reading.memoryBytes()).isPositive();
        long used = memory.usage().usedBytes();
        reading.release();
        assertThat(memory.usage().usedBytes()).isLessThan(used);
    }

    @Test
    void aDiskThatIsFullStopsItAndNothingIsLost() throws Exception {
        disk().close();
        pool = new TieredPool(memory, TestPools.diskTier(1L << 60, local));
        fill();
        Demotion demotion = demotion();
        try (LoggedLines lines = LoggedLines.of(Demotion.class)) {
            demotion.run();
            demotion.run();
            assertThat(lines.all())
                    .singleElement()
                    .asString()
                    .contains(
                            "nearly full", "spark.shuffle.rdma.disk.minFree", "spark.shuffle.rdma.pool.highWaterMark");
        }
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_DEMOTED)).isZero();
        for (int shuffleId = 1; shuffleId <= 9; shuffleId++) {
            assertThat(placeOf(shuffleId)).isEqualTo(Place.POOL);
            assertReadable(shuffleId);
        }
    }

    @Test
    void outputInBothTiersMovesCompletely() throws Exception {
        fill();
        List<Lease> rest = TestPools.fill(memory);
        rest.remove(0).close();
        pass(Duration.ofSeconds(11));
        write(10);
        rest.forEach(Lease::close);
        assertThat(placeOf(10)).isEqualTo(Place.DISK);
        MapOutput mixed =
                store.inMemory(10).isEmpty() ? null : store.inMemory(10).get(0);
        assertThat(mixed).as("some of it in memory").isNotNull();
        for (int shuffleId = 1; shuffleId <= 9; shuffleId++) {
            store.removeShuffle(shuffleId);
        }
        assertThat(mixed.retain()).isTrue();
        MapOutput copy = Objects.requireNonNull(DiskCopy.of(mixed, pool));
        mixed.release();
        assertThat(store.replace(10, mixed, copy)).isTrue();
        assertThat(copy.memoryBytes()).isZero();
        assertReadable(10);
        store.freeLeft(Duration.ZERO);
        assertReadable(10);
        assertThat(memory.usage().usedByPurpose()).doesNotContainKey(Purpose.MAP_OUTPUT);
    }

    @Test
    void anInterruptEndsACopy() throws Exception {
        fill();
        Thread.currentThread().interrupt();
        demotion().run();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_DEMOTED)).isZero();
        assertThat(disk().usage().leases()).isZero();
    }

    /** Ids say nothing of age. */
    @Test
    void theShuffleThatWasWrittenFirstMovesFirst() throws Exception {
        for (int shuffleId = 9; shuffleId >= 1; shuffleId--) {
            pass(Duration.ofSeconds(11));
            write(shuffleId);
        }
        demotion().run();
        assertThat(List.of(placeOf(9), placeOf(8), placeOf(7))).containsOnly(Place.DISK);
        assertThat(List.of(placeOf(6), placeOf(2), placeOf(1))).containsOnly(Place.POOL);
    }

    @Test
    void ofOneShuffleTheOutputThatWasWrittenFirstMovesFirst() throws Exception {
        List<Long> ids = List.of(70L, 60L, 50L, 40L, 80L, 30L, 20L, 10L);
        for (long mapId : ids) {
            pass(Duration.ofMillis(1));
            store.add(1, 0, TestStores.write(pool, mapId, new byte[][] {new byte[OUTPUT_BYTES]}));
        }
        assertThat(store.inMemory(1))
                .extracting(output -> output.entry().mapId())
                .isEqualTo(ids);
        pass(Duration.ofSeconds(11));
        write(2);
        demotion().run();
        assertThat(store.inMemory(1))
                .extracting(output -> output.entry().mapId())
                .isEqualTo(ids.subList(3, 8));
        assertThat(store.resting(Demotion.QUIET)).containsExactly(1);
        assertThat(store.leftBytes()).isBetween(300_000L, 310_000L);
    }

    /** Damaged outputs stay in place, for readers to detect. */
    @Test
    void anOutputWhoseIndexIsDamagedIsPassedOver() throws Exception {
        fill();
        MapOutput damaged = Objects.requireNonNull(store.acquire(1, 1));
        memory.regions()
                .get(damaged.entry().indexRegion())
                .memory()
                .putLong(damaged.entry().indexOffset(), 0x5A5A5A5A5A5A5A5AL);
        demotion().run();
        assertThat(damaged.memoryBytes()).isPositive();
        damaged.release();
        assertThat(placeOf(1)).isEqualTo(Place.POOL);
        assertThat(List.of(placeOf(2), placeOf(3), placeOf(4))).containsOnly(Place.DISK);
    }

    @Test
    void longOutputIsCopiedCompletely() throws Exception {
        try (Pool large = TestPools.create(directory, 32 << 20, 32 << 20)) {
            TieredPool tiers = new TieredPool(large, pool.disk());
            byte[] content = new byte[19 << 20];
            random.nextBytes(content);
            MapOutput output = TestStores.write(tiers, 7, new byte[][] {content});
            MapOutput copy = Objects.requireNonNull(DiskCopy.of(output, tiers));
            assertThat(copy.memoryBytes()).isZero();
            assertThat(copy.block(0).isIntact()).isTrue();
            assertThat(TestOutput.join(copy.block(0).pieces())).isEqualTo(content);
            copy.close();
            output.close();
        }
    }

    @Test
    void memoryThatOutputsHaveLeftCountsUntilItIsFree() throws Exception {
        fill();
        demotion().run();
        long left = store.leftBytes();
        assertThat(left).isEqualTo(counted(ShuffleCounter.DEMOTED_BYTES));
        store.removeShuffle(1);
        assertThat(store.leftBytes()).isEqualTo(left / 3 * 2);
        pass(GRACE);
        demotion().run();
        assertThat(store.leftBytes()).isZero();
    }
}
