// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("unit")
@Timeout(60)
class DirectoryEntryTest {
    private static final List<Integer> INTS = List.of(
            DirectoryLayout.ENTRY_PARTITIONS,
            DirectoryLayout.ENTRY_EXTENTS,
            DirectoryLayout.ENTRY_REGION,
            DirectoryLayout.ENTRY_DATA_REGION);

    private static final List<Integer> LONGS =
            List.of(DirectoryLayout.ENTRY_OFFSET, DirectoryLayout.ENTRY_DATA_OFFSET, DirectoryLayout.ENTRY_DATA_BYTES);

    private final NativeBuffer buffer = new NativeBuffer(DirectoryLayout.RECORD_BYTES);
    private final MemorySlice record = new MemorySlice(buffer.address(), DirectoryLayout.RECORD_BYTES);

    @AfterEach
    void close() {
        buffer.close();
    }

    private static DirectoryEntry entry(Place place) {
        return new DirectoryEntry(-42, place, 9, 2, 1, 640, 3, 1L << 40, 12345);
    }

    private DirectoryEntry readBack() throws DirectoryFormatException {
        return DirectoryEntry.read(Objects.requireNonNull(DirectoryLayout.snapshot(record)));
    }

    @ParameterizedTest
    @EnumSource
    void isReadAsItWasWrittenWhateverWasThere(Place place) throws Exception {
        for (int i = 0; i < DirectoryLayout.RECORD_BYTES; i += 8) {
            record.putLong(i, -1);
        }
        entry(place).write(record);
        assertThat(readBack()).isEqualTo(entry(place));
        assertThat(record.getLong(52)).as("reserved").isZero();
    }

    @Test
    void mayHaveNothingButAMapId() throws Exception {
        DirectoryEntry.empty(5, 0).write(record);
        assertThat(readBack()).isEqualTo(new DirectoryEntry(5, Place.POOL, 0, 0, 0, 0, 0, 0, 0));
        assertThat(DirectoryEntry.file(5, 7, 99)).isEqualTo(new DirectoryEntry(5, Place.FILE, 7, 0, 0, 0, 0, 0, 99));
        assertThat(DirectoryEntry.empty(5, 7)).isEqualTo(new DirectoryEntry(5, Place.POOL, 7, 0, 0, 0, 0, 0, 0));
    }

    @Test
    void noNumberIsNegative() {
        INTS.forEach(offset -> assertRefused(() -> record.putInt(offset, -1)));
        LONGS.forEach(offset -> assertRefused(() -> record.putLong(offset, -1)));
    }

    private void assertRefused(Runnable damage) {
        entry(Place.POOL).write(record);
        damage.run();
        DirectoryLayout.seal(record);
        assertThatThrownBy(this::readBack)
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("invalid numbers");
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 4, 1 << 24})
    void anUnknownPlaceIsRefused(int place) {
        entry(Place.POOL).write(record);
        record.putInt(DirectoryLayout.ENTRY_PLACE, place);
        DirectoryLayout.seal(record);
        assertThatThrownBy(this::readBack)
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("unknown place " + place);
    }

    @Test
    void everyByteOfARecordIsUnderItsChecksum() {
        entry(Place.DISK).write(record);
        ByteBuffer whole = Objects.requireNonNull(DirectoryLayout.snapshot(record));
        for (int i = 0; i < DirectoryLayout.RECORD_BYTES; i++) {
            byte damaged = (byte) (whole.get(i) ^ 1);
            record.putBytes(i, new byte[] {damaged}, 0, 1);
            assertThat(DirectoryLayout.snapshot(record)).as("byte %d", i).isNull();
            record.putBytes(i, new byte[] {whole.get(i)}, 0, 1);
        }
        assertThat(DirectoryLayout.snapshot(record)).isEqualTo(whole);
    }

    @Test
    void poolEntriesAreReadableAndDiskEntriesByCapability() {
        assertThat(entry(Place.POOL).isReadable(false)).isTrue();
        assertThat(entry(Place.POOL).isReadable(true)).isTrue();
        assertThat(entry(Place.DISK).isReadable(false)).isFalse();
        assertThat(entry(Place.DISK).isReadable(true)).isTrue();
        assertThat(entry(Place.FILE).isReadable(true)).isFalse();
        assertThat(entry(Place.WITHDRAWN).isReadable(true)).isFalse();
    }

    @Test
    void partitionsAreAtLeastOneOfThoseThereAre() throws Exception {
        DirectoryEntry nine = entry(Place.POOL);
        nine.checkPartitions(0, 9);
        nine.checkPartitions(0, 1);
        nine.checkPartitions(8, 9);
        for (int[] wrong : new int[][] {{-1, 1}, {0, 0}, {5, 4}, {0, 10}, {9, 10}}) {
            assertThatThrownBy(() -> nine.checkPartitions(wrong[0], wrong[1]))
                    .isInstanceOf(DirectoryFormatException.class)
                    .hasMessageContaining("[" + wrong[0] + ", " + wrong[1] + ")");
        }
    }

    @Test
    void onlyAnEmptyOutputOfThePoolNeedsNoIndex() {
        DirectoryEntry empty = DirectoryEntry.empty(1, 3);
        assertThat(new WantedRange(1, empty, 0, 1).isEmpty()).isTrue();
        assertThat(new WantedRange(1, entry(Place.POOL), 0, 1).isEmpty()).isFalse();
        assertThat(new WantedRange(1, DirectoryEntry.file(1, 3, 0), 0, 1).isEmpty())
                .isFalse();
    }

    @Test
    void aTableIsWhereTheNumbersCanBe() throws Exception {
        long farthest = Long.MAX_VALUE - DirectoryLayout.tableBytes(7);
        assertThat(DirectoryLocation.of(0, farthest, 7).table().offset()).isEqualTo(farthest);
        assertThat(DirectoryLocation.of(0, 0, 1).table().lengthBytes()).isEqualTo(128);
        assertNoTable(0, farthest + 1, 7);
        assertNoTable(-1, 0, 7);
        assertNoTable(0, -1, 7);
        assertNoTable(0, 0, 0);
        assertNoTable(0, 0, -1);
    }

    private static void assertNoTable(int region, long offset, int slots) {
        assertThatThrownBy(() -> DirectoryLocation.of(region, offset, slots))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("damaged directory location");
    }
}
