// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.CountingPeer;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Searches in tables whose records are sound, half written or damaged. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class RemoteTablesTest {
    private static final int SLOTS = 4;
    private static final int SHUFFLE = 6;
    private static final int SECOND = SHUFFLE + SLOTS;
    private static final long RECORD = DirectoryLayout.RECORD_BYTES;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private Node owner;
    private Node reader;
    private Peer peer;
    private CountingPeer counting;
    private MapOutputDirectory directory;
    private RemoteTables tables;

    @BeforeEach
    void open() throws Exception {
        owner = new Node(path, new ShmFabric(1, 1 << 20, true));
        reader = new Node(path, new ShmFabric(1, 1 << 20, true));
        directory = MapOutputDirectory.create(owner.pool(), SLOTS, UUID.randomUUID());
        peer = reader.connect(owner);
        counting = new CountingPeer(peer);
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), TIMEOUT);
        tables = new RemoteTables(counting.peer(), reads, directory.location());
    }

    @AfterEach
    void close() {
        peer.close();
        directory.close();
        reader.close();
        owner.close();
    }

    private void publish(int shuffleId) throws InterruptedException {
        assertThat(directory.publish(shuffleId, DirectoryEntry.file(1, 3, 7))).isTrue();
    }

    private MemorySlice at(long offset) {
        return owner.pool().regions().get(0).memory().slice(offset, RECORD);
    }

    private MemorySlice header() {
        return at(directory.location().table().offset());
    }

    private MemorySlice nextHeader() {
        return at(header().getLong(DirectoryLayout.HEADER_NEXT_OFFSET));
    }

    private MemorySlice slot(int shuffleId) {
        return at(directory.location().table().offset() + DirectoryLayout.slotOffset(shuffleId, SLOTS));
    }

    private static void damage(MemorySlice record, Consumer<MemorySlice> damage) {
        damage.accept(record);
        DirectoryLayout.seal(record);
    }

    private void assertNoTable() {
        assertThatThrownBy(() -> tables.find(SECOND))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("which is no table");
        assertThat(tables.places(SECOND)).hasSize(1);
    }

    @Test
    void aLiveSlotIsFoundWhereItIs() throws Exception {
        publish(SHUFFLE);
        RemoteTables.Search search = tables.find(SHUFFLE);
        ByteBuffer slot = Objects.requireNonNull(search.slot());
        assertThat(slot.getInt(DirectoryLayout.SLOT_SHUFFLE)).isEqualTo(SHUFFLE);
        assertThat(search.torn()).isFalse();
        RemoteSlice table = directory.location().table();
        RemoteSlice place = new RemoteSlice(table.regionId(), table.offset() + 3 * RECORD, RECORD);
        assertThat(search.place()).isEqualTo(place);
        assertThat(tables.home(SHUFFLE)).isEqualTo(place);
        assertThat(tables.places(SHUFFLE)).containsExactly(place);
    }

    @Test
    void absentShuffleIsNotFound() throws Exception {
        RemoteTables.Search never = tables.find(SHUFFLE);
        assertThat(never.slot()).isNull();
        assertThat(never.torn()).isFalse();
        assertThat(never.place()).isEqualTo(tables.home(SHUFFLE));
        publish(SHUFFLE);
        assertThat(tables.find(SECOND).slot()).as("another one has its slot").isNull();
        directory.withdraw(SHUFFLE);
        RemoteTables.Search withdrawn = tables.find(SHUFFLE);
        assertThat(withdrawn.slot()).isNull();
        assertThat(withdrawn.torn()).isFalse();
    }

    @Test
    void aFurtherTableIsFoundOnceAndSearchedWithTheFirst() throws Exception {
        publish(SHUFFLE);
        publish(SECOND);
        RemoteTables.Search search = tables.find(SECOND);
        assertThat(search.slot()).isNotNull();
        assertThat(search.place().offset())
                .isEqualTo(header().getLong(DirectoryLayout.HEADER_NEXT_OFFSET)
                        + DirectoryLayout.slotOffset(SECOND, 2 * SLOTS));
        assertThat(tables.places(SECOND)).containsExactly(tables.home(SECOND), search.place());
        counting.takeLooks();
        assertThat(tables.find(SECOND).slot()).isNotNull();
        assertThat(counting.takeLooks()).as("one at each slot").isEqualTo(2);
        assertThat(tables.find(SECOND + SLOTS).slot()).isNull();
        assertThat(tables.places(SECOND)).hasSize(2);
    }

    @Test
    void aSlotThatIsHalfWrittenIsLookedAtAgain() throws Exception {
        publish(SHUFFLE);
        slot(SHUFFLE).putLong(DirectoryLayout.SLOT_OFFSET, 1);
        RemoteTables.Search search = tables.find(SHUFFLE);
        assertThat(search.slot()).isNull();
        assertThat(search.torn()).isTrue();
        assertThat(search.place()).isEqualTo(tables.home(SHUFFLE));
    }

    /** The one in the first table may be about to become another shuffle's. */
    @Test
    void aSlotInALaterTableIsFoundWhateverTheFirstIsAbout() throws Exception {
        publish(SHUFFLE);
        publish(SECOND);
        assertThat(tables.find(SECOND).slot()).isNotNull();
        slot(SHUFFLE).putLong(DirectoryLayout.SLOT_OFFSET, 1);
        RemoteTables.Search search = tables.find(SECOND);
        assertThat(search.slot()).isNotNull();
        assertThat(search.torn()).isFalse();
    }

    @Test
    void aSlotInAnUnknownStateIsDamage() throws Exception {
        publish(SHUFFLE);
        damage(slot(SHUFFLE), slot -> slot.putInt(DirectoryLayout.SLOT_LIVE, 2));
        assertThatThrownBy(() -> tables.find(SHUFFLE))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("unknown state 2");
    }

    @Test
    void aHeaderThatIsHalfWrittenIsLookedAtAgain() throws Exception {
        publish(SHUFFLE);
        publish(SECOND);
        long offset = header().getLong(DirectoryLayout.HEADER_NEXT_OFFSET);
        header().putLong(DirectoryLayout.HEADER_NEXT_OFFSET, offset + 1);
        assertThat(tables.find(SECOND)).isEqualTo(new RemoteTables.Search(null, tables.home(SECOND), true));
        header().putLong(DirectoryLayout.HEADER_NEXT_OFFSET, offset);
        nextHeader().putInt(DirectoryLayout.HEADER_SLOTS, 7);
        assertThat(tables.find(SECOND)).isEqualTo(new RemoteTables.Search(null, tables.home(SECOND), true));
        nextHeader().putInt(DirectoryLayout.HEADER_SLOTS, 2 * SLOTS);
        assertThat(tables.find(SECOND).slot()).isNotNull();
    }

    @Test
    void malformedNextTableIsIgnored() throws Exception {
        publish(SHUFFLE);
        publish(SECOND);
        byte[] sound = new byte[(int) RECORD];
        nextHeader().getBytes(0, sound, 0, sound.length);
        damage(nextHeader(), next -> next.putInt(DirectoryLayout.HEADER_SLOTS, SLOTS));
        assertNoTable();
        nextHeader().putBytes(0, sound, 0, sound.length);
        damage(nextHeader(), next -> next.putLong(DirectoryLayout.HEADER_INCARNATION + 8, 1));
        assertNoTable();
        nextHeader().putBytes(0, sound, 0, sound.length);
        damage(nextHeader(), next -> next.putLong(0, 1));
        assertNoTable();
        nextHeader().putBytes(0, sound, 0, sound.length);
        damage(nextHeader(), next -> next.putInt(DirectoryLayout.HEADER_VERSION, 1));
        assertNoTable();
        nextHeader().putBytes(0, sound, 0, sound.length);
        assertThat(tables.find(SECOND).slot()).isNotNull();
    }

    @Test
    void aTableOutsideOfAllRegionsIsDamage() throws Exception {
        publish(SHUFFLE);
        publish(SECOND);
        damage(header(), header -> header.putInt(DirectoryLayout.HEADER_NEXT_REGION, -1));
        assertThatThrownBy(() -> tables.find(SECOND))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("damaged directory location");
    }

    /** It would be searched for ever. */
    @Test
    void aTableThatLeadsToItselfIsDamage() throws Exception {
        publish(SHUFFLE);
        damage(header(), header -> {
            header.putInt(DirectoryLayout.HEADER_NEXT_SLOTS, SLOTS);
            header.putInt(
                    DirectoryLayout.HEADER_NEXT_REGION,
                    directory.location().table().regionId());
            header.putLong(
                    DirectoryLayout.HEADER_NEXT_OFFSET,
                    directory.location().table().offset());
        });
        assertNoTable();
    }

    @Test
    void asManyTablesAsThereMayBeAreSearched() throws Exception {
        int step = SLOTS << DirectoryLayout.MAX_TABLES;
        for (int table = 0; table < DirectoryLayout.MAX_TABLES; table++) {
            publish(SHUFFLE + table * step);
        }
        int last = SHUFFLE + (DirectoryLayout.MAX_TABLES - 1) * step;
        assertThat(tables.find(last).slot()).isNotNull();
        assertThat(tables.places(last)).hasSize(DirectoryLayout.MAX_TABLES);
        assertThat(tables.find(last + step).slot()).isNull();
    }
}
