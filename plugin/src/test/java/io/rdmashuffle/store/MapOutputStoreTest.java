// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.RegionListener;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.WaitPolicy;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class MapOutputStoreTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final Random random = new Random(5);
    private Pool pool;
    private MapOutputStore store;
    private long emptyBytes;

    @BeforeEach
    void open() throws Exception {
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
        store = new MapOutputStore(MapOutputDirectory.create(pool, 16, UUID.randomUUID()), new ShuffleCounters());
        emptyBytes = pool.usage().usedBytes();
    }

    @AfterEach
    void close() {
        store.close();
        store.close();
        assertThat(pool.usage().leases()).isZero();
        pool.close();
    }

    private MapOutput output(long mapId) throws InterruptedException {
        return TestOutput.random(pool, mapId, 4, 500, random).output();
    }

    @Test
    void removalFreesWhenTheReaderHasLetGo() throws Exception {
        store.add(1, 0, output(10));
        store.add(2, 0, output(20));
        MapOutput held = store.acquire(1, 10);
        assertThat(held).isNotNull();
        store.removeShuffle(1);
        assertThat(store.acquire(1, 10)).isNull();
        assertThat(store.acquire(2, 20)).isNotNull().satisfies(MapOutput::release);
        assertThat(held).satisfies(output -> output.range(0, 4));
        if (held != null) {
            held.release();
        }
        store.removeShuffle(2);
        assertThat(pool.usage().usedBytes()).isEqualTo(emptyBytes);
    }

    @Test
    void lateOutputOfARemovedShuffleIsFreed() throws Exception {
        int epoch = store.epoch(1);
        MapOutput late = output(10);
        store.removeShuffle(1);
        assertThatThrownBy(() -> store.add(1, epoch, late))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("removed while its map task 10 ran");
        store.addFile(new OutputKey(1, 11), epoch, 4, 100);
        assertThat(store.acquire(1, 10)).isNull();
        assertThat(pool.usage().usedBytes()).isEqualTo(emptyBytes);
    }

    @Test
    void aRemovedShuffleMayBeWrittenAgain() throws Exception {
        store.add(1, store.epoch(1), output(10));
        store.removeShuffle(1);
        store.add(1, store.epoch(1), output(11));
        assertThat(store.acquire(1, 11)).isNotNull().satisfies(MapOutput::release);
        store.removeShuffle(1);
        assertThat(pool.usage().usedBytes()).isEqualTo(emptyBytes);
    }

    @Test
    void outputAfterCloseIsFreed() throws Exception {
        MapOutput late = output(10);
        store.close();
        assertThatThrownBy(() -> store.add(1, 0, late)).isInstanceOf(IOException.class);
        assertThat(store.acquire(1, 10)).isNull();
        assertThat(pool.usage().leases()).isZero();
    }

    /** The entry of a first output needs memory for which the pool has to grow; others are looked up meanwhile. */
    @Test
    void theStoreIsNotLockedWhileThePoolGrows() throws Exception {
        // Waits for growth are limited to a second: on a machine that stalls that long, growth is not seen at once.
        boolean seen = false;
        for (int attempt = 0; attempt < 10 && !seen; attempt++) {
            seen = isLookedUpWhileAnOutputWaitsForGrowth();
        }
        assertThat(seen).isTrue();
    }

    private boolean isLookedUpWhileAnOutputWaitsForGrowth() throws Exception {
        CountDownLatch mayEnd = new CountDownLatch(1);
        RegionListener slow = region -> {
            if (region.id() == 1) {
                awaitOrFail(mayEnd);
            }
        };
        try (Pool small = TestPools.create(directory, 2 << 20, 1 << 20, slow);
                MapOutputStore crowded = new MapOutputStore(
                        MapOutputDirectory.create(small, 16, UUID.randomUUID()), new ShuffleCounters())) {
            crowded.add(1, 0, TestOutput.random(small, 10, 4, 500, random).output());
            MapOutput late = TestOutput.random(small, 20, 4, 500, random).output();
            List<Lease> rest = takeAllThatIsThere(small);
            Thread adding = new Thread(() -> addOrFail(crowded, late));
            adding.start();
            while (adding.getState() != Thread.State.TIMED_WAITING && adding.isAlive()) {
                Thread.onSpinWait();
            }
            assertThat(crowded.isPooled(1, 10)).isTrue();
            boolean seen = adding.isAlive() && !crowded.isPooled(2, 20);
            mayEnd.countDown();
            adding.join();
            assertThat(crowded.isPooled(2, 20)).isTrue();
            rest.forEach(Lease::close);
            return seen;
        }
    }

    /** Room for the entry would have to be waited for. */
    @Test
    void anInterruptedTaskLeavesNoOutput() throws Exception {
        CountDownLatch mayEnd = new CountDownLatch(1);
        RegionListener slow = region -> {
            if (region.id() == 1) {
                awaitOrFail(mayEnd);
            }
        };
        try (Pool small = TestPools.create(directory, 2 << 20, 1 << 20, slow);
                MapOutputStore crowded = new MapOutputStore(
                        MapOutputDirectory.create(small, 16, UUID.randomUUID()), new ShuffleCounters())) {
            long empty = small.usage().usedBytes();
            MapOutput late = TestOutput.random(small, 20, 4, 500, random).output();
            List<Lease> rest = takeAllThatIsThere(small);
            Thread.currentThread().interrupt();
            try {
                assertThatThrownBy(() -> crowded.add(2, 0, late)).isInstanceOf(InterruptedException.class);
            } finally {
                Thread.interrupted();
                mayEnd.countDown();
            }
            assertThat(crowded.isPooled(2, 20)).isFalse();
            rest.forEach(Lease::close);
            assertThat(small.usage().usedBytes()).isEqualTo(empty);
        }
    }

    private static List<Lease> takeAllThatIsThere(Pool pool) throws InterruptedException {
        List<Lease> all = new ArrayList<>();
        Lease lease = pool.reserve(Purpose.MAP_OUTPUT, 1, 1 << 20, WaitPolicy.NONE);
        while (lease != null) {
            all.add(lease);
            lease = pool.reserve(Purpose.MAP_OUTPUT, 1, 1 << 20, WaitPolicy.NONE);
        }
        return all;
    }

    private static void addOrFail(MapOutputStore store, MapOutput output) {
        try {
            store.add(2, 0, output);
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void awaitOrFail(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void anOutputOfTheSameIdReplacesTheFirst() throws Exception {
        store.add(1, 0, output(10));
        MapOutput second = output(10);
        store.add(1, 0, second);
        assertThat(store.acquire(1, 10)).isSameAs(second).satisfies(MapOutput::release);
        store.removeShuffle(1);
        assertThat(pool.usage().usedBytes()).isEqualTo(emptyBytes);
    }
}
