// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;
import java.util.UUID;
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
    void anOutputOfATaskThatBeganBeforeTheRemovalIsFreedAndNoSuccess() throws Exception {
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
    void whatComesAfterCloseIsFreedAtOnce() throws Exception {
        MapOutput late = output(10);
        store.close();
        assertThatThrownBy(() -> store.add(1, 0, late)).isInstanceOf(IOException.class);
        assertThat(store.acquire(1, 10)).isNull();
        assertThat(pool.usage().leases()).isZero();
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
