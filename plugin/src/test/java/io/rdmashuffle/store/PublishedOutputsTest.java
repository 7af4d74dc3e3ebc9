// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.IndexCache;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of published outputs, written here or migrated, and of their counters and lifetime. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PublishedOutputsTest {
    private static final int SHUFFLE = 1;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final Random random = new Random(5);
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 1000);
    private final ShuffleCounters counters = new ShuffleCounters();
    private Node owner;
    private Node reader;
    private Peer peer;
    private MapOutputDirectory published;
    private MapOutputStore store;
    private long emptyBytes;

    @BeforeEach
    void open() throws Exception {
        owner = new Node(directory, new ShmFabric(1, 1 << 20, true));
        reader = new Node(directory, new ShmFabric(1, 1 << 20, true));
        published = MapOutputDirectory.create(owner.pool(), 16, UUID.randomUUID());
        store = TestStores.create(published, counters, clock::get);
        peer = reader.connect(owner);
        emptyBytes = owner.pool().usage().usedBytes();
    }

    @AfterEach
    void close() {
        peer.close();
        store.close();
        assertThat(owner.pool().usage().leases()).isZero();
        reader.close();
        owner.close();
    }

    private MapOutput output(long mapId) throws InterruptedException {
        return TestOutput.random(owner.pool(), mapId, 4, 500, random).output();
    }

    /** Returns what a peer finds that has never looked before; null if that is nothing. */
    private @Nullable DirectoryEntry found(long mapId) throws Exception {
        BlockingReads reads =
                new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), Duration.ofSeconds(10));
        return new RemoteDirectory(peer, published.location(), reads, new IndexCache(1 << 20)).find(SHUFFLE, mapId);
    }

    private long counted(ShuffleCounter counter) {
        return counters.snapshot().getOrDefault(counter, 0L);
    }

    private long usedBytes() {
        return owner.pool().usage().usedBytes();
    }

    @Test
    void writtenOutputIsFoundAndCounted() throws Exception {
        MapOutput written = output(10);
        store.add(SHUFFLE, 0, written);
        store.addFile(new OutputKey(SHUFFLE, 11), 0, 4, 99);
        assertThat(found(10)).isEqualTo(written.entry());
        assertThat(found(11)).isEqualTo(DirectoryEntry.file(11, 4, 99));
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_POOLED)).isEqualTo(1);
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_ON_DISK)).isZero();
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_FILED)).isEqualTo(1);
        assertThat(store.pooled()).isEqualTo(Map.of(SHUFFLE, List.of(10L)));
        assertThat(store.shuffleIds()).containsExactly(SHUFFLE);
    }

    @Test
    void lateFileOfARemovedShuffleIsIgnored() throws Exception {
        store.removeShuffle(SHUFFLE);
        store.addFile(new OutputKey(SHUFFLE, 11), 0, 4, 99);
        assertThat(found(11)).isNull();
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_FILED)).isZero();
    }

    @Test
    void migratedOutputIsFoundAndCounted() throws Exception {
        MapOutput adopted = output(10);
        assertThat(store.adopt(SHUFFLE, 0, adopted, clock.get() - 7)).isTrue();
        assertThat(store.adoptFile(new OutputKey(SHUFFLE, 11), 0, 4, 99, clock.get() - 7))
                .isTrue();
        assertThat(found(10)).isEqualTo(adopted.entry());
        assertThat(found(11)).isEqualTo(DirectoryEntry.file(11, 4, 99));
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_MIGRATED)).isEqualTo(2);
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_FILED)).isEqualTo(1);
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_POOLED)).isZero();
        assertThat(store.ageNanos(SHUFFLE, 10)).isEqualTo(7);
        assertThat(store.ageNanos(SHUFFLE, 11)).as("not in the pool").isZero();
    }

    /** Readers may know where the first one lies. */
    @Test
    void secondCopyOfAMigratedOutputIsFreed() throws Exception {
        MapOutput first = output(10);
        store.adopt(SHUFFLE, 0, first, clock.get());
        long used = usedBytes();
        assertThat(store.adopt(SHUFFLE, 0, output(10), clock.get())).isTrue();
        assertThat(usedBytes()).isEqualTo(used);
        assertThat(store.acquire(SHUFFLE, 10)).isSameAs(first).satisfies(MapOutput::release);
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_MIGRATED)).isEqualTo(1);
    }

    @Test
    void outputForARemovedShuffleIsRefused() throws Exception {
        store.removeShuffle(SHUFFLE);
        assertThat(store.adopt(SHUFFLE, 0, output(10), clock.get())).isFalse();
        assertThat(store.adoptFile(new OutputKey(SHUFFLE, 11), 0, 4, 99, clock.get()))
                .isFalse();
        assertThat(usedBytes()).isEqualTo(emptyBytes);
        assertThat(found(10)).isNull();
        assertThat(found(11)).isNull();
        assertThat(counted(ShuffleCounter.MAP_OUTPUTS_MIGRATED)).isZero();
    }

    /** It began to arrive after the removal, from an executor that has not heard of that. */
    @Test
    void earlierOutputBelongsToTheRemovedShuffle() throws Exception {
        store.removeShuffle(SHUFFLE);
        long removed = clock.get();
        int epoch = store.epoch(SHUFFLE);
        assertThat(store.isGone(SHUFFLE, epoch, removed - 1)).isTrue();
        assertThat(store.isGone(SHUFFLE, epoch, removed)).isFalse();
        assertThat(store.isGone(SHUFFLE, epoch - 1, removed)).isTrue();
        assertThat(store.isGone(SHUFFLE + 1, 0, removed - 1)).isFalse();
        assertThat(store.adopt(SHUFFLE, epoch, output(10), removed - 1)).isFalse();
        assertThat(store.adopt(SHUFFLE, epoch, output(10), removed)).isTrue();
    }

    @Test
    void nothingIsTakenOverAfterTheEnd() throws Exception {
        store.adopt(SHUFFLE, 0, output(10), clock.get());
        MapOutput late = output(11);
        store.close();
        assertThat(store.isGone(SHUFFLE, 0, clock.get())).isTrue();
        assertThat(store.adopt(SHUFFLE, 0, late, clock.get())).isFalse();
        assertThat(store.shuffleIds()).isEmpty();
        assertThat(owner.pool().usage().leases()).isZero();
    }

    @Test
    void removalHistoryIsBounded() {
        store.removeShuffle(0);
        store.removeShuffle(0);
        assertThat(store.epoch(0)).isEqualTo(2);
        for (int shuffleId = 1; shuffleId < 10_000; shuffleId++) {
            store.removeShuffle(shuffleId);
        }
        assertThat(store.epoch(0)).isEqualTo(2);
        store.removeShuffle(10_000);
        assertThat(store.epoch(0)).isZero();
        assertThat(store.epoch(1)).isEqualTo(1);
    }

    @Test
    void aDirectoryWithoutRoomIsSaidOnceAndTheOutputIsKept() throws Exception {
        MapOutput late = output(10);
        MapOutput later = output(11);
        List<Lease> rest = TestPools.fill(owner.pool());
        try (LoggedLines lines = LoggedLines.of(MapOutputStore.class)) {
            store.add(SHUFFLE, 0, late);
            store.add(SHUFFLE, 0, later);
            assertThat(lines.all()).singleElement().asString().contains("spark.shuffle.rdma.pool.maxSize");
        }
        rest.forEach(Lease::close);
        assertThat(found(10)).isNull();
        assertThat(store.isPooled(SHUFFLE, 10)).isTrue();
    }

    @Test
    void nothingIsSaidWhereThereIsNoDirectoryAtAll() throws Exception {
        try (MapOutputStore without = new MapOutputStore(MapOutputDirectory.absent(owner.pool()), counters);
                LoggedLines lines = LoggedLines.of(MapOutputStore.class)) {
            without.add(SHUFFLE, 0, output(10));
            assertThat(without.isPooled(SHUFFLE, 10)).isTrue();
            assertThat(lines.all()).isEmpty();
        }
    }
}
