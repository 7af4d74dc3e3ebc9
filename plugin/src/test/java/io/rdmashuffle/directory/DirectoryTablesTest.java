// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** More live shuffles than slots, as a long application has until its driver collects garbage. */
@Tag("unit")
@ParameterizedClass(name = "inPlace={0}")
@ValueSource(booleans = {true, false})
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(LeakCheck.class)
class DirectoryTablesTest {
    private static final int SLOTS = 16;
    private static final int SHUFFLE = 5;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final boolean inPlace;
    private Node owner;
    private Node reader;
    private Peer peer;
    private MapOutputDirectory directory;
    private RemoteDirectory remote;

    DirectoryTablesTest(boolean inPlace) {
        this.inPlace = inPlace;
    }

    @BeforeEach
    void open() throws Exception {
        owner = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        reader = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        directory = MapOutputDirectory.create(owner.pool(), SLOTS, UUID.randomUUID());
        peer = reader.connect(owner);
        remote = freshReader();
    }

    @AfterEach
    void close() {
        peer.close();
        directory.close();
        assertThat(owner.pool().usage().leases()).isZero();
        reader.close();
        owner.close();
    }

    private RemoteDirectory freshReader() throws IOException {
        DirectoryLocation announced =
                DirectoryLocation.decode(directory.location().encode());
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), TIMEOUT);
        return new RemoteDirectory(peer, announced, reads, new IndexCache(1 << 20));
    }

    private static DirectoryEntry file(long mapId) {
        return DirectoryEntry.file(mapId, 3, mapId * 7);
    }

    @Test
    void allShufflesAreFoundHoweverManyLive() throws Exception {
        for (int shuffle = 0; shuffle < 200; shuffle++) {
            assertThat(directory.publish(shuffle, file(shuffle))).isTrue();
            assertThat(remote.find(shuffle, shuffle)).isEqualTo(file(shuffle));
        }
        assertThat(directory.tables()).as("16 + 32 + 64 + 128 slots").isEqualTo(4);
        RemoteDirectory fresh = freshReader();
        for (int shuffle = 0; shuffle < 200; shuffle++) {
            assertThat(fresh.find(shuffle, shuffle)).isEqualTo(file(shuffle));
            assertThat(fresh.find(shuffle + 200, shuffle)).isNull();
        }
        for (int shuffle = 0; shuffle < 200; shuffle++) {
            directory.withdraw(shuffle);
        }
        assertThat(owner.pool().usage().usedBytes())
                .as("tables stay, for readers that know them")
                .isEqualTo(directory.tableBytes());
        assertThat(owner.pool().usage().leases()).isEqualTo(directory.tables());
        for (int shuffle = 200; shuffle < 400; shuffle++) {
            assertThat(directory.publish(shuffle, file(shuffle))).isTrue();
            assertThat(fresh.find(shuffle, shuffle)).isEqualTo(file(shuffle));
        }
        assertThat(directory.tables()).isEqualTo(4);
    }

    @Test
    void aShuffleThatIsWrittenAgainMayHaveAnotherSlot() throws Exception {
        int second = SHUFFLE + SLOTS;
        assertThat(directory.publish(SHUFFLE, file(1))).isTrue();
        assertThat(directory.publish(second, file(2))).isTrue();
        Located before = remote.locate(second, 2);
        assertThat(before).isNotNull();
        try (SlotWatch watch = remote.watch(second, before.generation())) {
            assertThat(watch == null || watch.isCurrent()).isTrue();
            directory.withdraw(SHUFFLE);
            directory.withdraw(second);
            assertThat(directory.publish(second, file(3))).isTrue();
            Located after = remote.locate(second, 3);
            assertThat(after).isNotNull();
            assertThat(after.generation()).isNotEqualTo(before.generation());
            assertThat(remote.find(second, 2)).isNull();
            try (SlotWatch stale = remote.watch(second, before.generation());
                    SlotWatch again = remote.watch(second, after.generation())) {
                assertThat(again == null || again.isCurrent()).isTrue();
                assertThat(stale != null && stale.isCurrent()).isFalse();
            }
            // Of another table, and of a shuffle in the former slot of the second one.
            assertThat(directory.publish(second + 2 * SLOTS, file(4))).isTrue();
            assertThat(watch != null && watch.isCurrent()).isFalse();
        }
    }

    /** Shuffles published before a search, and not withdrawn before its end. */
    private record Published(int shuffleId, long mapId) {
        static final Published NOTHING = new Published(-1, -1);
    }

    private volatile Published last = Published.NOTHING;
    private final AtomicInteger found = new AtomicInteger();

    @Test
    void publishedOutputsAreFoundWhileSlotsAreReused() throws Exception {
        long seed = System.nanoTime();
        System.out.println("DirectoryTablesTest seed " + seed);
        Random random = new Random(seed);
        int map = 0;
        for (; map < 4; map++) {
            assertThat(directory.publish(SHUFFLE + map * SLOTS, file(map))).isTrue();
        }
        CompletableFuture<Void> reading = CompletableFuture.runAsync(() -> findWhatIsPublished("seed " + seed));
        for (; !reading.isDone(); map++) {
            int shuffle = SHUFFLE + random.nextInt(4) * SLOTS;
            last = Published.NOTHING;
            directory.withdraw(shuffle);
            assertThat(directory.publish(shuffle, file(map))).isTrue();
            last = new Published(shuffle, map);
            if (random.nextInt(4) == 0) {
                LockSupport.parkNanos(200_000);
            }
        }
        reading.get();
        assertThat(directory.tables()).isEqualTo(3);
    }

    private void findWhatIsPublished(String where) {
        try {
            while (found.get() < 2000) {
                Published now = last;
                if (now.mapId() >= 0) {
                    RemoteDirectory looking = now.mapId() % 2 == 0 ? remote : freshReader();
                    DirectoryEntry entry = looking.find(now.shuffleId(), now.mapId());
                    boolean stayed = now.equals(last);
                    assertThat(entry == null ? !stayed : entry.equals(file(now.mapId())))
                            .as("%s, %s", now, where)
                            .isTrue();
                    found.addAndGet(entry == null ? 0 : 1);
                }
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
