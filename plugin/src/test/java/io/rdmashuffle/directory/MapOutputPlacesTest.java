// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Map outputs whose data, index or both lie in memory or on disk. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class MapOutputPlacesTest {
    private static final long MAP = 9;
    private static final int LENGTH = 10_000;
    private static final long[] LENGTHS = {100, 0, 9_000, 900};

    @TempDir(factory = ShmTempDirs.class)
    Path shm;

    @TempDir
    Path local;

    private final byte[] content = new byte[LENGTH];
    private final int[] checksums = new int[LENGTHS.length];
    private Pool memory;
    private DiskTier disk;
    private TieredPool pool;

    @BeforeEach
    void open() {
        memory = TestPools.create(shm, 1 << 20, 1 << 20);
        disk = TestPools.diskTier(0, local);
        pool = new TieredPool(memory, disk);
        new Random(5).nextBytes(content);
        int from = 0;
        for (int p = 0; p < LENGTHS.length; p++) {
            CRC32C crc = new CRC32C();
            crc.update(content, from, (int) LENGTHS[p]);
            checksums[p] = (int) crc.getValue();
            from += (int) LENGTHS[p];
        }
    }

    @AfterEach
    void close() {
        assertThat(memory.usage().usedBytes()).isZero();
        assertThat(disk.usage().usedBytes()).isZero();
        memory.close();
        disk.close();
    }

    private Lease inMemory(int from, int to) throws InterruptedException {
        Lease lease = TestPools.reserve(memory, Purpose.MAP_OUTPUT, to - from);
        lease.memory().putBytes(0, content, from, to - from);
        return lease;
    }

    private Lease onDisk(int from, int to) {
        return TestPools.filledOnDisk(pool, Arrays.copyOfRange(content, from, to));
    }

    private MapOutput create(List<Lease> data, long... usedBytes) throws InterruptedException {
        return Objects.requireNonNull(
                MapOutput.create(pool, WaitPolicy.NONE, MAP, data, usedBytes, LENGTHS, checksums), "no room");
    }

    private void assertHoldsAll(MapOutput output) throws Exception {
        StoredRange all = output.stored(0, LENGTHS.length);
        assertThat(TestOutput.join(all.pieces())).isEqualTo(content);
        assertThat(all.isIntact()).isTrue();
        assertThat(TestOutput.join(output.bytes(output.range(1, 3))))
                .isEqualTo(Arrays.copyOfRange(content, 100, 9_100));
        byte[] block = new byte[900];
        output.block(3).copyTo(block, 0);
        assertThat(block).isEqualTo(Arrays.copyOfRange(content, 9_100, LENGTH));
        assertThat(output.block(3).isIntact()).isTrue();
        assertThat(output.entry().dataBytes()).isEqualTo(LENGTH);
        assertThat(output.entry().partitions()).isEqualTo(4);
        assertThat(output.entry().mapId()).isEqualTo(MAP);
    }

    @Test
    void inOnePieceOfMemoryTheEntrySaysWhere() throws Exception {
        Lease before = TestPools.reserve(memory, Purpose.MAP_OUTPUT, 64);
        Lease data = inMemory(0, LENGTH);
        assertThat(data.offset()).isEqualTo(64);
        try (before;
                MapOutput output = create(List.of(data), LENGTH)) {
            assertHoldsAll(output);
            DirectoryEntry entry = output.entry();
            assertThat(entry.place()).isEqualTo(Place.POOL);
            assertThat(entry.extents()).isOne();
            assertThat(entry.dataRegion()).isEqualTo(data.region().id());
            assertThat(entry.dataOffset()).isEqualTo(data.offset());
            assertThat(output.memoryBytes()).isEqualTo(data.lengthBytes());
        }
    }

    @Test
    void inSeveralPiecesTheIndexSaysWhere() throws Exception {
        Lease first = inMemory(0, 500);
        Lease second = inMemory(500, LENGTH);
        try (MapOutput output = create(List.of(first, second), 500, LENGTH - 500)) {
            assertHoldsAll(output);
            assertThat(output.entry().place()).isEqualTo(Place.POOL);
            assertThat(output.entry().extents()).isEqualTo(2);
            assertThat(output.entry().dataRegion()).isZero();
            assertThat(output.entry().dataOffset()).isZero();
            assertThat(output.memoryBytes()).isEqualTo(first.lengthBytes() + second.lengthBytes());
        }
    }

    @Test
    void ofWhatLiesInBothTiersOnlyMemoryCounts() throws Exception {
        Lease first = inMemory(0, 500);
        Lease second = onDisk(500, LENGTH);
        try (MapOutput output = create(List.of(first, second), 500, LENGTH - 500)) {
            assertHoldsAll(output);
            assertThat(output.entry().place()).isEqualTo(Place.DISK);
            assertThat(Region.isOnDisk(output.entry().indexRegion())).isFalse();
            assertThat(output.memoryBytes()).isEqualTo(first.lengthBytes());
            assertThat(output.block(2).bytesOnDisk()).isEqualTo(9_000 - 400);
        }
    }

    @Test
    void anIndexGoesToDiskWhenMemoryIsFull() throws Exception {
        Lease data = inMemory(0, LENGTH);
        List<Lease> rest = TestPools.fill(memory);
        try (MapOutput output = create(List.of(data), LENGTH)) {
            assertHoldsAll(output);
            assertThat(output.entry().place()).isEqualTo(Place.DISK);
            assertThat(Region.isOnDisk(output.entry().indexRegion())).isTrue();
            assertThat(output.memoryBytes()).isEqualTo(data.lengthBytes());
        }
        rest.forEach(Lease::close);
    }

    @Test
    void dataAndIndexLieOnDiskNextToEachOther() throws Exception {
        Lease data = onDisk(0, LENGTH);
        try (MapOutput output =
                Objects.requireNonNull(MapOutput.createOnDisk(pool, MAP, data, LENGTH, LENGTHS, checksums))) {
            assertHoldsAll(output);
            assertThat(output.entry().place()).isEqualTo(Place.DISK);
            assertThat(output.entry().indexRegion()).isEqualTo(Region.FIRST_ON_DISK);
            assertThat(output.memoryBytes()).isZero();
            assertThat(output.stored(0, 1).pieces()).hasOnlyElementsOfType(FileSlice.class);
            assertThat(disk.usage().leases()).isEqualTo(2);
            assertThat(memory.usage().leases()).isZero();
        }
    }

    @Test
    void withoutRoomOnDiskTheDataStaysTheCallers() throws Exception {
        try (Lease data = onDisk(0, LENGTH)) {
            @Nullable
            MapOutput none = MapOutput.createOnDisk(TieredPool.of(memory), MAP, data, LENGTH, LENGTHS, checksums);
            assertThat(none).isNull();
            disk.retire();
            assertThat(MapOutput.createOnDisk(pool, MAP, data, LENGTH, LENGTHS, checksums))
                    .isNull();
            assertThat(TestPools.bytes(data.bytes().slice(0, LENGTH))).isEqualTo(content);
        }
    }

    @Test
    void anOutputWithoutBytesTakesNoRoom() throws Exception {
        try (MapOutput output =
                Objects.requireNonNull(MapOutput.create(pool, MAP, List.of(), new long[0], new long[3], new int[3]))) {
            assertThat(output.entry()).isEqualTo(DirectoryEntry.empty(MAP, 3));
            assertThat(output.memoryBytes()).isZero();
            assertThat(output.stored(0, 3).pieces()).isEmpty();
            assertThat(output.range(1, 3).lengths()).containsExactly(0, 0);
            assertThat(output.block(2).lengthBytes()).isZero();
            assertThat(memory.usage().leases()).isZero();
            assertThatThrownBy(() -> output.block(3)).isInstanceOf(DirectoryFormatException.class);
            assertThatThrownBy(() -> output.range(0, 4)).isInstanceOf(DirectoryFormatException.class);
        }
    }

    @Test
    void noRegionIsReadThatIsNotTheOutputsOwn() throws Exception {
        try (MapOutput output = create(List.of(inMemory(0, LENGTH)), LENGTH)) {
            BlockRange foreign =
                    new BlockRange(List.of(new RemoteSlice(Region.FIRST_ON_DISK, 0, 1)), new long[] {1}, new int[1]);
            assertThatThrownBy(() -> output.bytes(foreign))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("map " + MAP);
            MemorySlice piece = (MemorySlice) output.stored(0, 1).pieces().get(0);
            piece.putBytes(0, new byte[] {(byte) (content[0] + 1)}, 0, 1);
            assertThat(output.stored(0, 4).isIntact()).isFalse();
            assertThat(output.stored(1, 4).isIntact()).isTrue();
        }
    }
}
