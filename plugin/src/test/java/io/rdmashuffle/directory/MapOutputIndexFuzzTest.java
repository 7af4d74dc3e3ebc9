// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Damaged locations, entries and indexes: refused, or slices whose lengths are those of the partitions. */
@Tag("unit")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MapOutputIndexFuzzTest {
    private static final int PARTITIONS = 5;
    private static final int EXTENTS = 3;
    private static final int DATA_BYTES = 600;
    private static final DirectoryEntry ENTRY =
            new DirectoryEntry(9, Place.POOL, PARTITIONS, EXTENTS, 2, 640, 0, 0, DATA_BYTES);
    /** The same data in one piece. */
    private static final DirectoryEntry IN_ONE_PIECE =
            new DirectoryEntry(9, Place.POOL, PARTITIONS, 1, 2, 640, 1, 64, DATA_BYTES);

    @Test
    void everyDamagedLocationIsRefusedOrNamesATable() {
        try (FuzzRun run = new FuzzRun("directory location", DirectoryFormatException.class)) {
            byte[] valid =
                    new DirectoryLocation(new RemoteSlice(3, 4096, DirectoryLayout.tableBytes(100)), 100).encode();
            new Mutations(run.random())
                    .all(
                            valid,
                            run.times(1000),
                            input -> run.attempt(input, () -> {
                                DirectoryLocation location = DirectoryLocation.decode(input);
                                assertThat(location.table().lengthBytes())
                                        .isEqualTo(DirectoryLayout.tableBytes(location.slots()));
                                assertThat(location.table().offset()
                                                + location.table().lengthBytes())
                                        .as("end of the table")
                                        .isPositive();
                                assertThat(location.encode()).isEqualTo(input);
                                return true;
                            }));
        }
    }

    @Test
    void damagedEntryIsRefusedOrNamesAValidIndex() {
        try (FuzzRun run =
                        new FuzzRun("directory entry", DirectoryFormatException.class, IllegalArgumentException.class);
                NativeBuffer memory = new NativeBuffer(DirectoryLayout.RECORD_BYTES)) {
            MemorySlice record = new MemorySlice(memory.address(), memory.lengthBytes());
            for (DirectoryEntry written : List.of(ENTRY, IN_ONE_PIECE)) {
                written.write(record);
                byte[] valid = new byte[(int) DirectoryLayout.RECORD_BYTES];
                record.getBytes(0, valid, 0, valid.length);
                new Mutations(run.random())
                        .inPlace(
                                valid,
                                run.times(2000),
                                input -> run.attempt(
                                        input, () -> readEntry(record, input, Arrays.equals(valid, input))));
            }
        }
    }

    private static boolean readEntry(MemorySlice record, byte[] input, boolean undamaged) throws Exception {
        record.putBytes(0, input, 0, input.length);
        assertThat(DirectoryLayout.snapshot(record) == null)
                .as("a checksum that does not fit")
                .isNotEqualTo(undamaged);
        DirectoryLayout.seal(record);
        ByteBuffer copy = DirectoryLayout.snapshot(record);
        assertThat(copy).isNotNull();
        DirectoryEntry entry = DirectoryEntry.read(copy);
        int end = Math.max(1, entry.partitions());
        for (RemoteSlice slice : MapOutputIndex.slicesFor(entry, end - 1, end)) {
            assertThat(slice.regionId()).isEqualTo(entry.indexRegion());
            assertThat(slice.offset()).isGreaterThanOrEqualTo(entry.indexOffset());
            assertThat(slice.offset() + slice.lengthBytes() - entry.indexOffset())
                    .isBetween(1L, MapOutputIndex.lengthBytes(entry.partitions(), entry.extents()));
        }
        return true;
    }

    @ParameterizedTest
    @ValueSource(ints = {EXTENTS, 1})
    void everyDamagedIndexIsRefusedOrCoversItsPartitions(int extents) {
        DirectoryEntry entry = extents == 1 ? IN_ONE_PIECE : ENTRY;
        try (FuzzRun run = new FuzzRun("map output index of " + extents + " extents", DirectoryFormatException.class);
                NativeBuffer memory = new NativeBuffer(MapOutputIndex.lengthBytes(PARTITIONS, extents));
                NativeBuffer data = new NativeBuffer(DATA_BYTES)) {
            MemorySlice index = new MemorySlice(memory.address(), memory.lengthBytes());
            MemorySlice bytes = new MemorySlice(data.address(), data.lengthBytes());
            byte[] valid = index(index, extents);
            Mutations mutations = new Mutations(run.random());
            mutations.inPlace(valid, run.times(5000), input -> attempt(run, entry, index, bytes, input));
            for (int round = 0; round < run.times(20_000); round++) {
                attempt(run, entry, index, bytes, withHostileOffsets(valid, extents, run.random(), mutations));
            }
            assertThat(run.harmless()).isPositive();
        }
    }

    private static void attempt(FuzzRun run, DirectoryEntry entry, MemorySlice index, MemorySlice data, byte[] input) {
        int start = run.random().nextInt(PARTITIONS);
        int end = start + 1 + run.random().nextInt(PARTITIONS - start);
        run.attempt(input, () -> {
            index.putBytes(0, input, 0, input.length);
            List<StoredSlice> parts = new ArrayList<>();
            for (RemoteSlice slice : MapOutputIndex.slicesFor(entry, start, end)) {
                parts.add(index.slice(slice.offset() - entry.indexOffset(), slice.lengthBytes()));
            }
            BlockRange range = MapOutputIndex.read(entry, start, parts);
            long total = 0;
            for (long length : range.lengths()) {
                assertThat(length).isNotNegative();
                total = Math.addExact(total, length);
            }
            assertThat(range.lengthBytes()).isEqualTo(total).isLessThanOrEqualTo(DATA_BYTES);
            List<StoredSlice> read = new ArrayList<>();
            for (RemoteSlice slice : range.slices()) {
                read.add(data.slice(0, slice.lengthBytes()));
            }
            boolean unused = range.matches(read);
            return true;
        });
        // The owner's region as a reader maps it: the index first, for its offset, and less data than entries may
        // claim.
        run.attempt(input, () -> {
            DirectoryEntry here = new DirectoryEntry(
                    9,
                    Place.POOL,
                    PARTITIONS,
                    entry.extents(),
                    entry.indexRegion(),
                    0,
                    entry.dataRegion(),
                    entry.dataOffset(),
                    DATA_BYTES);
            MapOutputIndex.Regions regions = id -> id == entry.indexRegion() ? index : id < 2 ? data : null;
            StoredBlock block = MapOutputIndex.block(here, regions, start);
            byte[] copy = new byte[DATA_BYTES];
            block.copyTo(copy, 0);
            boolean unused = block.isIntact();
            assertThat(block.pieces().stream()
                            .mapToLong(StoredSlice::lengthBytes)
                            .sum())
                    .isEqualTo(block.lengthBytes())
                    .isLessThanOrEqualTo(DATA_BYTES);
            return true;
        });
    }

    /** Offsets of partitions and starts of extents are sums; these are made to overflow. */
    private static byte[] withHostileOffsets(byte[] valid, int extents, Random random, Mutations mutations) {
        ByteBuffer changed = ByteBuffer.wrap(valid.clone()).order(ByteOrder.LITTLE_ENDIAN);
        int table = extents == 1 ? 0 : 24 * extents;
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            int offset = table == 0 || random.nextBoolean()
                    ? table + 12 * random.nextInt(PARTITIONS + 1)
                    : 24 * random.nextInt(extents) + Long.BYTES * random.nextInt(2);
            long value = random.nextInt(3) == 0 ? random.nextInt(DATA_BYTES + 1) : mutations.hostile();
            changed.putLong(offset, random.nextBoolean() ? value : -value);
        }
        return changed.array();
    }

    private static byte[] index(MemorySlice memory, int count) {
        List<MapOutputIndex.Extent> extents = count == 1
                ? List.of(new MapOutputIndex.Extent(1, 64, DATA_BYTES))
                : List.of(
                        new MapOutputIndex.Extent(0, 64, 100),
                        new MapOutputIndex.Extent(1, 0, 300),
                        new MapOutputIndex.Extent(0, 4096, 200));
        long[] lengths = {150, 0, 50, 300, 100};
        MapOutputIndex.write(memory, ENTRY.mapId(), extents, lengths, new int[] {1, 0, 3, 4, 5});
        byte[] valid = new byte[(int) memory.lengthBytes()];
        memory.getBytes(0, valid, 0, valid.length);
        return valid;
    }
}
