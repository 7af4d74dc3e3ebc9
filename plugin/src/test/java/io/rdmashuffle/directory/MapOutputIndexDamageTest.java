// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Numbers in an index that cannot be, each by itself; and those at the edge, which can. */
@Tag("unit")
@Timeout(60)
class MapOutputIndexDamageTest {
    private static final long MAP = 7;
    private static final int INDEX_REGION = 2;
    private static final int DATA_REGION = 5;
    private static final long ROW = 12;
    private static final long EXTENT = 24;
    private static final long[] LENGTHS = {10, 0, 30};
    private static final int[] CHECKSUMS = {11, 12, 13};
    private static final int REGION_BYTES = 4096;

    private final NativeBuffer indexes = new NativeBuffer(REGION_BYTES);
    private final NativeBuffer data = new NativeBuffer(REGION_BYTES);
    private final MemorySlice indexRegion = new MemorySlice(indexes.address(), REGION_BYTES);
    private final MemorySlice dataRegion = new MemorySlice(data.address(), REGION_BYTES);
    /** Of an output in one piece. */
    private MemorySlice rows;

    /** Of one in two: 15 bytes at 100, then 25 at 1000. */
    private MemorySlice cut;

    private DirectoryEntry whole;
    private DirectoryEntry inTwo;

    @BeforeEach
    void write() {
        long length = MapOutputIndex.lengthBytes(3, 1);
        rows = indexRegion.slice(64, length);
        MapOutputIndex.write(rows, MAP, List.of(extent(100, 40)), LENGTHS, CHECKSUMS);
        whole = new DirectoryEntry(MAP, Place.POOL, 3, 1, INDEX_REGION, 64, DATA_REGION, 100, 40);
        cut = indexRegion.slice(512, MapOutputIndex.lengthBytes(3, 2));
        MapOutputIndex.write(cut, MAP, List.of(extent(100, 15), extent(1000, 25)), LENGTHS, CHECKSUMS);
        inTwo = new DirectoryEntry(MAP, Place.POOL, 3, 2, INDEX_REGION, 512, 0, 0, 40);
    }

    @AfterEach
    void close() {
        indexes.close();
        data.close();
    }

    private static MapOutputIndex.Extent extent(long offset, long length) {
        return new MapOutputIndex.Extent(DATA_REGION, offset, length);
    }

    private static RemoteSlice slice(long offset, long length) {
        return new RemoteSlice(DATA_REGION, offset, length);
    }

    private StoredSlice region(int id) {
        return id == INDEX_REGION ? indexRegion : dataRegion;
    }

    private static DirectoryEntry with(DirectoryEntry entry, long dataOffset, long dataBytes) {
        return new DirectoryEntry(
                entry.mapId(),
                entry.place(),
                entry.partitions(),
                entry.extents(),
                entry.indexRegion(),
                entry.indexOffset(),
                entry.dataRegion(),
                dataOffset,
                dataBytes);
    }

    private void assertDamaged(DirectoryEntry entry, int partition) {
        assertThatThrownBy(() -> MapOutputIndex.read(entry, indexRegion, partition, partition + 1))
                .isInstanceOf(DirectoryFormatException.class);
        assertThatThrownBy(() -> MapOutputIndex.block(entry, this::region, partition))
                .isInstanceOf(DirectoryFormatException.class);
    }

    @Test
    void aSoundIndexLeadsToEveryPartition() throws Exception {
        assertThat(MapOutputIndex.read(whole, indexRegion, 0, 3).slices()).containsExactly(slice(100, 40));
        assertThat(MapOutputIndex.read(whole, indexRegion, 2, 3).slices()).containsExactly(slice(110, 30));
        assertThat(MapOutputIndex.read(inTwo, indexRegion, 0, 1).slices()).containsExactly(slice(100, 10));
        BlockRange last = MapOutputIndex.read(inTwo, indexRegion, 1, 3);
        assertThat(last.slices()).containsExactly(slice(110, 5), slice(1000, 25));
        assertThat(last.lengths()).containsExactly(0, 30);
        assertThat(last.checksums()).containsExactly(12, 13);
        StoredBlock block = MapOutputIndex.block(inTwo, this::region, 2);
        assertThat(block)
                .isEqualTo(new StoredBlock(List.of(dataRegion.slice(110, 5), dataRegion.slice(1000, 25)), 30, 13));
        assertThat(MapOutputIndex.block(whole, this::region, 0))
                .isEqualTo(new StoredBlock(List.of(dataRegion.slice(100, 10)), 10, 11));
        assertThat(MapOutputIndex.block(whole, this::region, 1).pieces()).isEmpty();
        assertThat(MapOutputIndex.block(DirectoryEntry.empty(MAP, 3), this::region, 1))
                .isEqualTo(StoredBlock.EMPTY);
    }

    @Test
    void aPeerAsksForRowsAndForExtentsIfThereAreAny() throws Exception {
        assertThat(MapOutputIndex.slicesFor(whole, 1, 3))
                .containsExactly(new RemoteSlice(INDEX_REGION, 64 + ROW, 2 * ROW + 8));
        List<RemoteSlice> parts = MapOutputIndex.slicesFor(inTwo, 1, 3);
        assertThat(parts)
                .containsExactly(
                        new RemoteSlice(INDEX_REGION, 512 + 2 * EXTENT + ROW, 2 * ROW + 8),
                        new RemoteSlice(INDEX_REGION, 512, 2 * EXTENT));
        List<StoredSlice> bytes = parts.stream()
                .map(part -> (StoredSlice) indexRegion.slice(part.offset(), part.lengthBytes()))
                .toList();
        assertThat(MapOutputIndex.read(inTwo, 1, bytes).slices()).containsExactly(slice(110, 5), slice(1000, 25));
        assertThatThrownBy(() -> MapOutputIndex.slicesFor(DirectoryEntry.empty(MAP, 3), 0, 1))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("no index");
        assertThatThrownBy(() -> MapOutputIndex.slicesFor(whole, 0, 4)).isInstanceOf(DirectoryFormatException.class);
    }

    @Test
    void rowsThatLeadOutsideTheDataAreDamaged() {
        rows.putLong(0, -1);
        assertDamaged(whole, 0);
        rows.putLong(0, 11);
        assertDamaged(whole, 0);
        rows.putLong(3 * ROW, 41);
        assertDamaged(whole, 2);
        rows.putLong(3 * ROW, Long.MIN_VALUE);
        assertDamaged(whole, 2);
        rows.putLong(2 * ROW, Long.MAX_VALUE);
        assertDamaged(whole, 1);
    }

    @Test
    void dataOutsideOfAllRegionsIsDamage() throws Exception {
        assertDamaged(with(whole, Long.MAX_VALUE - 39, 40), 2);
        assertThat(MapOutputIndex.read(with(whole, Long.MAX_VALUE - 40, 40), indexRegion, 2, 3)
                        .slices())
                .containsExactly(slice(Long.MAX_VALUE - 30, 30));
        assertThatThrownBy(() -> MapOutputIndex.block(with(whole, REGION_BYTES - 39, 40), this::region, 2))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("of 4096");
        assertThat(MapOutputIndex.block(with(whole, REGION_BYTES - 40, 40), this::region, 2)
                        .pieces())
                .containsExactly(dataRegion.slice(REGION_BYTES - 30, 30));
        assertThatThrownBy(() -> MapOutputIndex.block(whole, id -> id == INDEX_REGION ? indexRegion : null, 0))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("does not exist");
        assertThatThrownBy(() -> MapOutputIndex.block(whole, id -> null, 0))
                .isInstanceOf(DirectoryFormatException.class)
                .hasMessageContaining("does not exist");
    }

    @Test
    void anIndexThatEndsOutsideItsRegionIsDamage() throws Exception {
        MemorySlice exact = indexRegion.slice(0, 64 + rows.lengthBytes());
        assertThat(MapOutputIndex.block(whole, id -> id == INDEX_REGION ? exact : dataRegion, 0)
                        .lengthBytes())
                .isEqualTo(10);
        MemorySlice tooShort = indexRegion.slice(0, 63 + rows.lengthBytes());
        assertThatThrownBy(() -> MapOutputIndex.block(whole, id -> id == INDEX_REGION ? tooShort : dataRegion, 0))
                .isInstanceOf(DirectoryFormatException.class);
    }

    @Test
    void damagedExtentsAreFound() {
        cut.putLong(8, -1);
        assertDamaged(inTwo, 0);
        write();
        cut.putLong(8, Long.MAX_VALUE - 9);
        assertDamaged(inTwo, 0);
        write();
        cut.putInt(16, -1);
        assertDamaged(inTwo, 0);
        write();
        cut.putLong(0, -1);
        assertDamaged(inTwo, 0);
    }

    @Test
    void extentsThatDoNotCoverTheDataOnceAreDamage() {
        cut.putLong(0, 1);
        assertDamaged(inTwo, 0);
        write();
        assertDamaged(with(inTwo, 0, 39), 2);
        // Two extents of the same bytes.
        MemorySlice twice = indexRegion.slice(1024, MapOutputIndex.lengthBytes(3, 3));
        MapOutputIndex.write(
                twice, MAP, List.of(extent(100, 15), extent(1000, 25), extent(2000, 0)), LENGTHS, CHECKSUMS);
        DirectoryEntry inThree = new DirectoryEntry(MAP, Place.POOL, 3, 3, INDEX_REGION, 1024, 0, 0, 40);
        twice.putLong(2 * EXTENT, 0);
        assertDamaged(inThree, 0);
    }
}
