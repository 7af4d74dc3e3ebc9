// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.CountingPeer;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of a reader's cache of a shuffle's slot and entries, and of its refresh. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class KnownShuffleTest {
    private static final int SLOTS = 4;
    private static final int SHUFFLE = 6;
    private static final long RECORD = DirectoryLayout.RECORD_BYTES;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private Node owner;
    private Node reader;
    private Peer peer;
    private CountingPeer counting;
    private MapOutputDirectory directory;
    private BlockingReads reads;

    @BeforeEach
    void open() throws Exception {
        owner = new Node(path, new ShmFabric(1, 1 << 20, true));
        reader = new Node(path, new ShmFabric(1, 1 << 20, true));
        directory = MapOutputDirectory.create(owner.pool(), SLOTS, UUID.randomUUID());
        peer = reader.connect(owner);
        counting = new CountingPeer(peer);
        reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), TIMEOUT);
    }

    @AfterEach
    void close() {
        peer.close();
        directory.close();
        reader.close();
        owner.close();
    }

    private KnownShuffle shuffle(Duration timeout, Duration trust) {
        RemoteTables tables = new RemoteTables(counting.peer(), reads, directory.location());
        return new KnownShuffle(SHUFFLE, counting.peer(), reads, tables, timeout, trust);
    }

    private KnownShuffle trusting() {
        return shuffle(TIMEOUT, Duration.ofDays(1));
    }

    private static DirectoryEntry file(long mapId) {
        return DirectoryEntry.file(mapId, 3, mapId * 7);
    }

    private void publish(long... mapIds) throws InterruptedException {
        for (long mapId : mapIds) {
            assertThat(directory.publish(SHUFFLE, file(mapId))).isTrue();
        }
    }

    private MemorySlice slot() {
        return owner.pool()
                .regions()
                .get(0)
                .memory()
                .slice(directory.location().table().offset() + DirectoryLayout.slotOffset(SHUFFLE, SLOTS), RECORD);
    }

    private MemorySlice record(int number) {
        long segment = slot().getLong(DirectoryLayout.SLOT_OFFSET);
        return owner.pool().regions().get(0).memory().slice(segment + number * RECORD, RECORD);
    }

    private static @Nullable DirectoryEntry entry(@Nullable Located located) {
        return located == null ? null : located.entry();
    }

    private static @Nullable DirectoryEntry find(KnownShuffle shuffle, long mapId) throws IOException {
        return entry(shuffle.refreshAndGet(mapId));
    }

    @Test
    void trustedEntryCostsNoLookup() throws Exception {
        publish(1, 2);
        KnownShuffle shuffle = trusting();
        assertThat(shuffle.trusted(1)).as("nothing was read").isNull();
        assertThat(shuffle.trusted()).isEmpty();
        assertThat(find(shuffle, 1)).isEqualTo(file(1));
        counting.takeLooks();
        assertThat(find(shuffle, 2)).isEqualTo(file(2));
        assertThat(entry(shuffle.trusted(2))).isEqualTo(file(2));
        assertThat(shuffle.trusted()).containsExactlyInAnyOrder(file(1), file(2));
        assertThat(shuffle.isTrusted(List.of(1L, 2L))).isTrue();
        assertThat(shuffle.isTrusted(List.of(1L, 3L))).isFalse();
        assertThat(counting.takeLooks()).isZero();
    }

    @Test
    void unknownOutputsAreLookedUpEachTime() throws Exception {
        publish(1, 2);
        KnownShuffle shuffle = trusting();
        assertThat(find(shuffle, 3)).isNull();
        counting.takeLooks();
        assertThat(find(shuffle, 3)).isNull();
        long looks = counting.takeLooks();
        assertThat(looks).as("slot and header").isPositive();
        publish(3);
        // Were these read again, they would be found half written.
        record(0).putInt(DirectoryLayout.ENTRY_PARTITIONS, 99);
        assertThat(find(shuffle, 3)).isEqualTo(file(3));
        assertThat(counting.takeLooks()).isEqualTo(looks + 1);
        assertThat(find(shuffle, 1)).isEqualTo(file(1));
    }

    @Test
    void withoutTrustTheSlotIsLookedAtEachTime() throws Exception {
        publish(1);
        KnownShuffle shuffle = shuffle(TIMEOUT, Duration.ZERO);
        assertThat(find(shuffle, 1)).isEqualTo(file(1));
        assertThat(shuffle.trusted(1)).isNull();
        assertThat(shuffle.trusted()).isEmpty();
        assertThat(shuffle.isTrusted(List.of(1L))).isFalse();
        counting.takeLooks();
        assertThat(find(shuffle, 1)).isEqualTo(file(1));
        assertThat(counting.takeLooks()).isPositive();
    }

    @Test
    void distrustIsForOneGenerationOrForAll() throws Exception {
        publish(1);
        KnownShuffle shuffle = trusting();
        long generation = Objects.requireNonNull(shuffle.refreshAndGet(1)).generation();
        shuffle.distrust(generation + 1);
        assertThat(shuffle.trusted(1)).isNotNull();
        shuffle.distrust(generation);
        assertThat(shuffle.trusted(1)).isNull();
        assertThat(find(shuffle, 1)).isEqualTo(file(1));
        assertThat(shuffle.trusted(1)).isNotNull();
        shuffle.distrust();
        assertThat(shuffle.trusted(1)).isNull();
    }

    @Test
    void aShuffleThatIsGoneIsForgottenAtTheNextLook() throws Exception {
        publish(1);
        KnownShuffle shuffle = trusting();
        assertThat(find(shuffle, 1)).isEqualTo(file(1));
        directory.withdraw(SHUFFLE);
        assertThat(find(shuffle, 2)).isNull();
        assertThat(shuffle.trusted(1)).isNull();
        publish(5);
        assertThat(find(shuffle, 5)).isEqualTo(file(5));
    }

    @Test
    void ofAnotherGenerationEverythingIsReadAnew() throws Exception {
        publish(1, 2);
        KnownShuffle shuffle = trusting();
        long first = Objects.requireNonNull(shuffle.refreshAndGet(1)).generation();
        directory.withdraw(SHUFFLE);
        publish(3, 4, 5);
        Located third = Objects.requireNonNull(shuffle.refreshAndGet(3));
        assertThat(third.generation()).isNotEqualTo(first);
        assertThat(shuffle.trusted()).containsExactlyInAnyOrder(file(3), file(4), file(5));
    }

    /** A record that is being written must not block access to complete ones. */
    @Test
    void completeEntriesBeforeOneThatIsHalfWrittenAreUsed() throws Exception {
        publish(1, 2, 3);
        byte[] whole = TestPools.bytes(record(1));
        record(1).putInt(DirectoryLayout.ENTRY_PARTITIONS, 99);
        KnownShuffle shuffle = shuffle(Duration.ofMillis(5), Duration.ofDays(1));
        assertThat(find(shuffle, 1)).isEqualTo(file(1));
        assertThatThrownBy(() -> shuffle.refreshAndGet(2))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContainingAll("shuffle " + SHUFFLE, "wrong checksum");
        record(1).putBytes(0, whole, 0, whole.length);
        assertThat(find(shuffle, 2)).isEqualTo(file(2));
        assertThat(find(shuffle, 3)).isEqualTo(file(3));
    }

    @Test
    void numbersThatCannotBeAreDamage() throws Exception {
        publish(1);
        slot().putInt(DirectoryLayout.SLOT_REGION, -1);
        DirectoryLayout.seal(slot());
        assertThatThrownBy(() -> trusting().refreshAndGet(1))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("directory of shuffle " + SHUFFLE + " is damaged")
                .hasCauseInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void theSlotIsWhereItWasSeen() throws Exception {
        assertThat(directory.publish(SHUFFLE + SLOTS, file(1))).isTrue();
        KnownShuffle shuffle = trusting();
        long home = directory.location().table().offset() + DirectoryLayout.slotOffset(SHUFFLE, SLOTS);
        assertThat(shuffle.slot().offset()).isEqualTo(home);
        publish(2);
        assertThat(find(shuffle, 2)).isEqualTo(file(2));
        assertThat(shuffle.slot().offset()).as("in the second table").isNotEqualTo(home);
    }
}
