// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.MapOutputDirectory.Room;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What the owner of a directory writes, and which room it takes for that. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class MapOutputDirectoryTest {
    private static final int SLOTS = 4;
    private static final int SHUFFLE = 6;
    private static final long RECORD = DirectoryLayout.RECORD_BYTES;
    private static final long SEGMENT = 64 * RECORD;
    private static final UUID INCARNATION = new UUID(0x0102030405060708L, 0x1112131415161718L);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final List<Lease> others = new ArrayList<>();
    private Pool pool;
    private MapOutputDirectory directory;

    @BeforeEach
    void open() throws InterruptedException {
        pool = TestPools.create(path, 1 << 20, 1 << 20);
        directory = MapOutputDirectory.create(pool, SLOTS, INCARNATION);
    }

    @AfterEach
    void close() {
        directory.close();
        others.forEach(Lease::close);
        assertThat(pool.usage().usedBytes()).isZero();
        pool.close();
    }

    private static DirectoryEntry file(long mapId) {
        return DirectoryEntry.file(mapId, 3, mapId * 7);
    }

    private MemorySlice at(long offset) {
        return pool.regions().get(0).memory().slice(offset, RECORD);
    }

    private static ByteBuffer whole(MemorySlice record) {
        return Objects.requireNonNull(DirectoryLayout.snapshot(record), "a wrong checksum");
    }

    private ByteBuffer slot(int shuffleId) {
        return whole(at(directory.location().table().offset() + DirectoryLayout.slotOffset(shuffleId, SLOTS)));
    }

    private void fillPool() throws InterruptedException {
        others.addAll(TestPools.fill(pool));
    }

    private void publish(int shuffleId, int entries) throws InterruptedException {
        for (int i = 0; i < entries; i++) {
            assertThat(directory.publish(shuffleId, file(i))).isTrue();
        }
    }

    @Test
    void theHeaderSaysWhatKindOfTableItIsAndWhose() {
        ByteBuffer header = whole(at(directory.location().table().offset()));
        assertThat(header.getLong(0)).isEqualTo(DirectoryLayout.MAGIC);
        assertThat(header.getInt(DirectoryLayout.HEADER_VERSION)).isEqualTo(DirectoryLayout.VERSION);
        assertThat(header.getInt(DirectoryLayout.HEADER_SLOTS)).isEqualTo(SLOTS);
        assertThat(header.slice(DirectoryLayout.HEADER_INCARNATION, 16))
                .isEqualTo(ByteBuffer.allocate(16)
                        .putLong(0x0102030405060708L)
                        .putLong(0x1112131415161718L)
                        .flip());
        assertThat(header.getInt(DirectoryLayout.HEADER_NEXT_SLOTS)).isZero();
        assertThat(directory.location().slots()).isEqualTo(SLOTS);
        assertThat(directory.location().table().lengthBytes()).isEqualTo((1 + SLOTS) * RECORD);
        assertThat(MapOutputDirectory.firstTableBytes(SLOTS)).isEqualTo((1 + SLOTS) * RECORD);
        assertThat(directory.isAbsent()).isFalse();
    }

    @Test
    void theSlotLeadsToTheEntriesAndCountsThem() throws Exception {
        publish(SHUFFLE, 3);
        ByteBuffer slot = slot(SHUFFLE);
        assertThat(slot.getInt(DirectoryLayout.SLOT_SHUFFLE)).isEqualTo(SHUFFLE);
        assertThat(slot.getInt(DirectoryLayout.SLOT_LIVE)).isOne();
        assertThat(slot.getInt(DirectoryLayout.SLOT_ENTRIES)).isEqualTo(3);
        assertThat(slot.getLong(DirectoryLayout.SLOT_REVISION)).isZero();
        long segment = slot.getLong(DirectoryLayout.SLOT_OFFSET);
        for (int i = 0; i < 3; i++) {
            assertThat(DirectoryEntry.read(whole(at(segment + i * RECORD)))).isEqualTo(file(i));
        }
        directory.withdraw(SHUFFLE);
        ByteBuffer withdrawn = slot(SHUFFLE);
        assertThat(withdrawn.getInt(DirectoryLayout.SLOT_LIVE)).isZero();
        assertThat(withdrawn.getLong(DirectoryLayout.SLOT_GENERATION))
                .isGreaterThan(slot.getLong(DirectoryLayout.SLOT_GENERATION));
    }

    @Test
    void segmentsDoubleAndOldOnesStayUntilTheShuffleGoes() throws Exception {
        long table = pool.usage().usedBytes();
        publish(SHUFFLE, 64);
        assertThat(pool.usage().usedBytes()).isEqualTo(table + SEGMENT);
        publish(SHUFFLE, 1);
        assertThat(pool.usage().usedBytes()).isEqualTo(table + 3 * SEGMENT);
        publish(SHUFFLE, 63);
        assertThat(pool.usage().usedBytes()).isEqualTo(table + 3 * SEGMENT);
        publish(SHUFFLE, 1);
        assertThat(pool.usage().usedBytes()).isEqualTo(table + 7 * SEGMENT);
        ByteBuffer slot = slot(SHUFFLE);
        assertThat(slot.getInt(DirectoryLayout.SLOT_ENTRIES)).isEqualTo(129);
        long segment = slot.getLong(DirectoryLayout.SLOT_OFFSET);
        assertThat(DirectoryEntry.read(whole(at(segment + 63 * RECORD)))).isEqualTo(file(63));
        directory.withdraw(SHUFFLE);
        assertThat(pool.usage().usedBytes()).isEqualTo(table);
    }

    @Test
    void anEntryThatMovedIsWrittenInItsPlace() throws Exception {
        publish(SHUFFLE, 3);
        publish(SHUFFLE, 2);
        DirectoryEntry moved = DirectoryEntry.file(1, 3, 99);
        directory.relocate(SHUFFLE, moved);
        ByteBuffer slot = slot(SHUFFLE);
        assertThat(slot.getLong(DirectoryLayout.SLOT_REVISION)).isOne();
        assertThat(slot.getInt(DirectoryLayout.SLOT_ENTRIES)).isEqualTo(5);
        long segment = slot.getLong(DirectoryLayout.SLOT_OFFSET);
        assertThat(DirectoryEntry.read(whole(at(segment + 4 * RECORD))))
                .as("the last one")
                .isEqualTo(moved);
        assertThat(DirectoryEntry.read(whole(at(segment + RECORD)))).isEqualTo(file(1));
        directory.relocate(SHUFFLE, DirectoryEntry.file(0, 3, 98));
        directory.relocate(SHUFFLE, file(7));
        assertThat(slot(SHUFFLE).getLong(DirectoryLayout.SLOT_REVISION))
                .as("none of that id")
                .isEqualTo(2);
        directory.relocate(SHUFFLE + SLOTS, moved);
    }

    @Test
    void noGenerationComesTwice() throws Exception {
        publish(SHUFFLE, 1);
        long first = slot(SHUFFLE).getLong(DirectoryLayout.SLOT_GENERATION);
        directory.expire(SHUFFLE);
        long second = slot(SHUFFLE).getLong(DirectoryLayout.SLOT_GENERATION);
        assertThat(second).isGreaterThan(first);
        assertThat(slot(SHUFFLE).getInt(DirectoryLayout.SLOT_ENTRIES)).isOne();
        directory.expire(SHUFFLE + 1);
        publish(SHUFFLE + 1, 1);
        assertThat(slot(SHUFFLE + 1).getLong(DirectoryLayout.SLOT_GENERATION)).isGreaterThan(second);
        publish(SHUFFLE, 1);
        assertThat(slot(SHUFFLE).getLong(DirectoryLayout.SLOT_GENERATION)).isEqualTo(second);
    }

    @Test
    void preparedRoomIsUsedWhereThePoolHasNone() throws Exception {
        try (Room first = directory.prepare(SHUFFLE, WaitPolicy.NONE);
                Room unused = directory.prepare(SHUFFLE, WaitPolicy.NONE)) {
            fillPool();
            assertThat(directory.publish(SHUFFLE, file(0), first)).isTrue();
            assertThat(directory.publish(SHUFFLE, file(1), unused)).isTrue();
            for (int i = 2; i < 64; i++) {
                assertThat(directory.publish(SHUFFLE, file(i))).isTrue();
            }
            assertThat(directory.publish(SHUFFLE, file(64), unused))
                    .as("its room is for the first entries")
                    .isFalse();
            assertThat(slot(SHUFFLE).getInt(DirectoryLayout.SLOT_ENTRIES)).isEqualTo(64);
        }
        assertThat(directory.publish(SHUFFLE, file(64)))
                .as("unused bytes were released, and are too few")
                .isFalse();
    }

    @Test
    void roomIsPreparedForWhatIsMissingOnly() throws Exception {
        long table = pool.usage().usedBytes();
        try (Room room = directory.prepare(SHUFFLE, WaitPolicy.NONE)) {
            assertThat(pool.usage().usedBytes()).isEqualTo(table + SEGMENT);
            assertThat(directory.publish(SHUFFLE, file(0), room)).isTrue();
        }
        directory.prepare(SHUFFLE, WaitPolicy.NONE).close();
        assertThat(pool.usage().peakBytes()).as("there was room").isEqualTo(table + SEGMENT);
        publish(SHUFFLE, 63);
        try (Room larger = directory.prepare(SHUFFLE, WaitPolicy.NONE)) {
            assertThat(pool.usage().usedBytes()).isEqualTo(table + 3 * SEGMENT);
            assertThat(directory.publish(SHUFFLE, file(64), larger)).isTrue();
        }
        try (Room other = directory.prepare(SHUFFLE + SLOTS, WaitPolicy.NONE)) {
            assertThat(pool.usage().usedBytes())
                    .as("a segment, and a table since the slot is taken")
                    .isEqualTo(table + 4 * SEGMENT + (1 + 2 * SLOTS) * RECORD);
            fillPool();
            assertThat(directory.publish(SHUFFLE + SLOTS, file(0), other)).isTrue();
        }
        assertThat(directory.tables()).isEqualTo(2);
    }

    @Test
    void aFurtherTableIsLinkedToTheOneBefore() throws Exception {
        publish(SHUFFLE, 1);
        publish(SHUFFLE + SLOTS, 1);
        assertThat(directory.tables()).isEqualTo(2);
        assertThat(directory.tableBytes()).isEqualTo((1 + SLOTS + 1 + 2 * SLOTS) * RECORD);
        ByteBuffer header = whole(at(directory.location().table().offset()));
        assertThat(header.getInt(DirectoryLayout.HEADER_NEXT_SLOTS)).isEqualTo(2 * SLOTS);
        ByteBuffer next = whole(at(header.getLong(DirectoryLayout.HEADER_NEXT_OFFSET)));
        assertThat(next.getInt(DirectoryLayout.HEADER_SLOTS)).isEqualTo(2 * SLOTS);
        assertThat(next.slice(DirectoryLayout.HEADER_INCARNATION, 16))
                .isEqualTo(header.slice(DirectoryLayout.HEADER_INCARNATION, 16));
    }

    @Test
    void tablesAndSegmentsOfLaterRegionsAreLedTo() throws Exception {
        Path second = Files.createDirectory(path.resolve("second"));
        try (Pool two = TestPools.create(second, 2 << 20, 1 << 20);
                MapOutputDirectory own = MapOutputDirectory.create(two, SLOTS, INCARNATION);
                Lease first = TestPools.reserve(two, Purpose.RECEIVE, (1 << 20) - (1 + SLOTS) * RECORD)) {
            assertThat(first.region().id()).isZero();
            assertThat(own.publish(SHUFFLE, file(0))).isTrue();
            assertThat(own.publish(SHUFFLE + SLOTS, file(0))).isTrue();
            MemorySlice table = two.regions().get(0).memory().slice(0, (1 + SLOTS) * RECORD);
            ByteBuffer header = whole(table.slice(0, RECORD));
            assertThat(header.getInt(DirectoryLayout.HEADER_NEXT_REGION)).isOne();
            ByteBuffer slot = whole(table.slice(DirectoryLayout.slotOffset(SHUFFLE, SLOTS), RECORD));
            assertThat(slot.getInt(DirectoryLayout.SLOT_REGION)).isOne();
        }
    }

    @Test
    void thereAreOnlySoManyTables() throws Exception {
        int table = 0;
        // All of them share a slot in every table.
        int step = SLOTS << DirectoryLayout.MAX_TABLES;
        while (directory.publish(SHUFFLE + table * step, file(table))) {
            table++;
        }
        assertThat(table).isEqualTo(DirectoryLayout.MAX_TABLES);
        assertThat(directory.tables()).isEqualTo(DirectoryLayout.MAX_TABLES);
        try (Room room = directory.prepare(SHUFFLE + table * step, WaitPolicy.NONE)) {
            assertThat(directory.publish(SHUFFLE + table * step, file(table), room))
                    .isFalse();
        }
        directory.withdraw(SHUFFLE);
        assertThat(directory.publish(SHUFFLE + table * step, file(table))).isTrue();
    }

    @Test
    void withoutRoomNothingIsPublishedAndNothingKept() throws Exception {
        publish(SHUFFLE, 1);
        fillPool();
        assertThat(directory.publish(SHUFFLE + 1, file(0))).isFalse();
        assertThat(directory.publish(SHUFFLE + SLOTS, file(0))).isFalse();
        publish(SHUFFLE, 63);
        assertThat(directory.publish(SHUFFLE, file(64))).isFalse();
        assertThat(slot(SHUFFLE).getInt(DirectoryLayout.SLOT_ENTRIES)).isEqualTo(64);
        directory.withdraw(SHUFFLE);
        assertThat(directory.publish(SHUFFLE + 1, file(0)))
                .as("there is room again")
                .isTrue();
    }

    @Test
    void aPoolThatHoldsNoTableNamesItsKeys() throws Exception {
        fillPool();
        assertThatThrownBy(() -> MapOutputDirectory.create(pool, SLOTS, INCARNATION))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(
                        ((1 + SLOTS) * RECORD) + " bytes",
                        "spark.shuffle.rdma.pool.maxSize",
                        "spark.shuffle.rdma.directory.maxShuffles");
    }

    @Test
    void inAnAbsentDirectoryNothingIsPublished() throws Exception {
        long used = pool.usage().usedBytes();
        MapOutputDirectory absent = MapOutputDirectory.absent(pool);
        assertThat(absent.isAbsent()).isTrue();
        assertThat(absent.publish(SHUFFLE, file(0))).isFalse();
        assertThat(absent.tables()).isZero();
        assertThat(absent.tableBytes()).isZero();
        assertThat(pool.usage().usedBytes()).isEqualTo(used);
        absent.withdraw(SHUFFLE);
        absent.close();
    }

    @Test
    void afterItsEndNothingIsWritten() throws Exception {
        publish(SHUFFLE, 1);
        directory.close();
        assertThat(pool.usage().usedBytes()).isZero();
        try (Lease now = TestPools.reserve(pool, Purpose.RECEIVE, 1 << 20);
                Room room = directory.prepare(SHUFFLE, WaitPolicy.NONE)) {
            now.memory().clear();
            assertThat(directory.publish(SHUFFLE, file(1), room)).isFalse();
            directory.relocate(SHUFFLE, file(0));
            directory.expire(SHUFFLE);
            directory.withdraw(SHUFFLE);
            assertThat(TestPools.bytes(now.memory())).containsOnly(0);
        }
    }
}
