// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.Crc32c;
import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.ffi.RawMemory;
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
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.nio.file.Path;
import java.util.ArrayList;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A map output in memory, on disk, and on both. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ChunkedOutputTest {
    private static final long MEMORY_BYTES = 256 << 10;
    private static final long CHUNK_BYTES = 16 << 10;

    @TempDir(factory = ShmTempDirs.class)
    Path shm;

    @TempDir
    Path disk;

    private final Random random = new Random(42);
    private Pool memory;
    private DiskTier tier;
    private TieredPool pool;

    @BeforeEach
    void open() {
        memory = TestPools.create(shm, MEMORY_BYTES, MEMORY_BYTES);
        tier = TestPools.diskTier(0, disk);
        pool = new TieredPool(memory, tier);
    }

    @AfterEach
    void close() {
        memory.close();
        tier.close();
    }

    private byte[] content(int bytes) {
        byte[] content = new byte[bytes];
        random.nextBytes(content);
        return content;
    }

    /** Appends in pieces of random lengths, in each of the ways that there are. */
    private int append(ChunkedOutput output, byte[] content) throws Exception {
        int done = 0;
        while (done < content.length) {
            int piece = Math.min(content.length - done, 1 + random.nextInt(40_000));
            int taken = piece;
            switch (random.nextInt(3)) {
                case 2 -> taken = appendFromAnywhere(output, content, done, piece);
                case 0 -> {
                    ByteBuffer source = ByteBuffer.wrap(content, done, piece);
                    output.append(source);
                    taken = piece - source.remaining();
                }
                default -> taken = output.append(content, done, piece);
            }
            done += taken;
            if (taken < piece) {
                return done;
            }
        }
        return done;
    }

    /** The checksum covers accepted bytes, over any number of windows. */
    private static int appendFromAnywhere(ChunkedOutput output, byte[] content, int offset, int length)
            throws Exception {
        CRC32C crc = new CRC32C();
        int taken = output.append(
                (address, from, bytes) -> RawMemory.putBytes(address, content, offset + from, bytes), length, crc);
        assertThat((int) crc.getValue()).isEqualTo(crc(content, offset, offset + taken));
        return taken;
    }

    /** Neither the copy nor the checksum has a safepoint poll. */
    @Test
    void copiesLargeRecordsInPieces(@TempDir(factory = ShmTempDirs.class) Path large) throws Exception {
        byte[] content = content((5 << 20) + 3);
        try (Pool roomy = TestPools.create(large, 8 << 20, 8 << 20)) {
            ChunkedOutput output = new ChunkedOutput(TieredPool.of(roomy), 8 << 20, 0, false);
            CRC32C crc = new CRC32C();
            int taken = output.append(
                    (address, from, bytes) -> {
                        assertThat(bytes).isLessThanOrEqualTo(1 << 20);
                        RawMemory.putBytes(address, content, from, bytes);
                    },
                    content.length,
                    crc);
            assertThat(taken).isEqualTo(content.length);
            assertThat((int) crc.getValue()).isEqualTo(crc(content, 0, content.length));
            assertThat(bytes(output.slices())).isEqualTo(content);
            output.discard();
        }
    }

    private static byte[] bytes(List<StoredSlice> slices) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        slices.forEach(slice -> out.writeBytes(TestPools.bytes(slice)));
        return out.toByteArray();
    }

    private static int crc(byte[] content, int from, int to) {
        CRC32C crc = new CRC32C();
        crc.update(content, from, to - from);
        return (int) crc.getValue();
    }

    /** Makes a map output of two partitions and reads both back. */
    private MapOutput finish(ChunkedOutput output, byte[] content) throws Exception {
        int half = content.length / 2;
        MapOutput made = output.toMapOutput(7, new long[] {half, content.length - half}, new int[] {
            crc(content, 0, half), crc(content, half, content.length)
        });
        assertThat(made).isNotNull();
        for (int p = 0; p < 2; p++) {
            StoredBlock block = made.block(p);
            byte[] copy = new byte[(int) block.lengthBytes()];
            block.copyTo(copy, 0);
            assertThat(copy).isEqualTo(Arrays.copyOfRange(content, p == 0 ? 0 : half, p == 0 ? half : content.length));
            assertThat(block.isIntact()).isTrue();
        }
        assertThat(bytes(made.stored(0, 2).pieces())).isEqualTo(content);
        return made;
    }

    @Test
    void smallOutputStaysInMemory() throws Exception {
        byte[] content = content(100_000);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, content.length, false);
        assertThat(append(output, content)).isEqualTo(content.length);
        try (MapOutput made = finish(output, content)) {
            assertThat(made.entry().place()).isEqualTo(Place.POOL);
            assertThat(tier.usage().leases()).isZero();
        }
    }

    /** A pool may have regions of any length; unwritten parts of a file use no memory. */
    @Test
    void aLeaseMayBeLongerThanAByteBuffer() throws Exception {
        long bytes = (2L << 30) + (1 << 20);
        try (Pool large = TestPools.create(disk, bytes, bytes)) {
            ChunkedOutput output = new ChunkedOutput(TieredPool.of(large), CHUNK_BYTES, bytes, false);
            byte[] content = content(1_000);
            assertThat(appendFromAnywhere(output, content, 0, content.length)).isEqualTo(content.length);
            assertThat(large.usage().usedBytes()).isEqualTo(1L << 30);
            assertThat(output.append(content, 0, content.length)).isEqualTo(content.length);
            assertThat(bytes(output.slices())).startsWith(content).hasSize(2 * content.length);
            output.discard();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1_000, 200_000, 1_000_000})
    void aLeaseIsWrittenThroughSeveralWindows(int length) throws Exception {
        byte[] content = content(length);
        ChunkedOutput output = new ChunkedOutput(pool, WaitPolicy.GROWTH, CHUNK_BYTES, content.length, false, 700);
        assertThat(append(output, content)).isEqualTo(content.length);
        assertThat(bytes(output.slices())).isEqualTo(content);
        finish(output, content).close();
        assertThat(memory.usage().usedBytes()).isZero();
    }

    @Test
    void spillsToDiskWithoutRewriting() throws Exception {
        byte[] content = content(3 << 20);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, 0, false);
        assertThat(append(output, content)).isEqualTo(content.length);
        assertThat(bytes(output.slices())).isEqualTo(content);
        long inMemory = memory.usage().usedBytes();
        assertThat(inMemory).isGreaterThan(MEMORY_BYTES / 2);
        try (MapOutput made = finish(output, content)) {
            assertThat(made.entry().place()).isEqualTo(Place.DISK);
            assertThat(tier.usage().usedBytes()).isBetween(content.length - MEMORY_BYTES, content.length + CHUNK_BYTES);
        }
        assertThat(memory.usage().usedBytes()).isZero();
        assertThat(tier.usage().usedBytes()).isZero();
    }

    /** Memory comes back while an output is written: another shuffle is removed, or has moved to disk. */
    @Test
    void alternatesBetweenDiskAndMemory() throws Exception {
        List<Lease> full = TestPools.fill(memory);
        byte[] content = content(600_000);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, 0, false);
        assertThat(output.append(content, 0, 10_000)).isEqualTo(10_000);
        Lease behind = Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, 1 << 20, 1 << 20));
        full.forEach(Lease::close);
        assertThat(output.append(content, 10_000, 100_000)).isEqualTo(100_000);
        assertThat(memory.usage().usedBytes()).as("the rest of it").isPositive();
        assertThat(bytes(output.slices())).isEqualTo(Arrays.copyOf(content, 110_000));
        assertThat(output.append(content, 110_000, 490_000)).isEqualTo(490_000);
        try (MapOutput made = finish(output, content)) {
            assertThat(made.entry().extents()).isGreaterThanOrEqualTo(3);
        }
        behind.close();
        assertThat(memory.usage().usedBytes()).isZero();
        assertThat(tier.usage().usedBytes()).isZero();
    }

    @Test
    void outputFromDiskMayEndInMemory() throws Exception {
        List<Lease> full = TestPools.fill(memory);
        byte[] content = content(60_000);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, 0, false);
        assertThat(output.append(content, 0, 10_000)).isEqualTo(10_000);
        Lease behind = Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, 1 << 20, 1 << 20));
        full.forEach(Lease::close);
        assertThat(output.append(content, 10_000, 50_000)).isEqualTo(50_000);
        try (MapOutput made = finish(output, content)) {
            assertThat(made.entry().place()).isEqualTo(Place.DISK);
        }
        behind.close();
    }

    @Test
    void fillsMemoryAndPutsOnlyTheRestOnDisk() throws Exception {
        byte[] content = content(1 << 20);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, content.length, false);
        assertThat(append(output, content)).isEqualTo(content.length);
        assertThat(memory.usage().usedBytes()).isEqualTo(MEMORY_BYTES);
        try (MapOutput made = finish(output, content)) {
            assertThat(made.entry().place()).isEqualTo(Place.DISK);
            assertThat(made.entry().extents()).isEqualTo(2);
            assertThat(made.memoryBytes()).isEqualTo(MEMORY_BYTES);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {70_000, 100_000, 130_000, 250_000})
    void splitsAnOutputAcrossRegions(int length) throws Exception {
        try (Pool regions = TestPools.create(shm, MEMORY_BYTES, MEMORY_BYTES / 4)) {
            byte[] content = content(length);
            ChunkedOutput output = new ChunkedOutput(new TieredPool(regions, tier), CHUNK_BYTES, content.length, false);
            assertThat(append(output, content)).isEqualTo(content.length);
            try (MapOutput made = finish(output, content)) {
                assertThat(made.entry().place()).isEqualTo(Place.POOL);
                assertThat(made.entry().extents()).isGreaterThan(1);
                assertThat(tier.usage().leases()).isZero();
            }
            assertThat(regions.usage().usedBytes()).isZero();
        }
    }

    /** At 52 % of a region 14 of 30 outputs lay on disk while the pool was half full. */
    @Test
    void outputsLongerThanHalfARegionFillThePool() throws Exception {
        try (Pool regions = TestPools.create(shm, 8 * MEMORY_BYTES, MEMORY_BYTES)) {
            byte[] content = content((int) (MEMORY_BYTES * 52 / 100));
            List<ChunkedOutput> outputs = new ArrayList<>();
            while (tier.usage().leases() == 0) {
                ChunkedOutput output =
                        new ChunkedOutput(new TieredPool(regions, tier), CHUNK_BYTES, content.length, false);
                outputs.add(output);
                assertThat(append(output, content)).isEqualTo(content.length);
            }
            assertThat(regions.usage().usedBytes()).isEqualTo(8 * MEMORY_BYTES);
            outputs.forEach(ChunkedOutput::discard);
        }
    }

    /** Each extent takes 24 bytes of an index that every reduce task reads. */
    @Test
    void aLongOutputTakesNoShortLeases() throws Exception {
        long chunk = 64 << 10;
        List<Lease> holes = new ArrayList<>();
        List<Lease> between = new ArrayList<>();
        for (Lease hole = small(); hole != null; hole = small()) {
            holes.add(hole);
            between.add(Objects.requireNonNullElse(small(), hole));
        }
        holes.stream().filter(lease -> !between.contains(lease)).forEach(Lease::close);
        ChunkedOutput output = new ChunkedOutput(pool, chunk, 1L << 30, false);
        assertThat(output.append(content(10), 0, 10)).isEqualTo(10);
        assertThat(tier.usage().leases()).as("holes of 4 KiB are too short").isOne();
        output.discard();
        between.forEach(Lease::close);
    }

    private @Nullable Lease small() throws InterruptedException {
        return memory.reserve(Purpose.MAP_OUTPUT, 4096, 4096, WaitPolicy.NONE);
    }

    @Test
    void anIndexThatFindsNoMemoryLiesOnDiskToo() throws Exception {
        List<Lease> full = TestPools.fill(memory);
        byte[] content = content(50_000);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, content.length, false);
        assertThat(append(output, content)).isEqualTo(content.length);
        try (MapOutput made = finish(output, content)) {
            assertThat(Region.isOnDisk(made.entry().indexRegion())).isTrue();
        }
        full.forEach(Lease::close);
    }

    @Test
    void bothTiersFullIsSaidAtOnceAndNothingIsLost() throws Exception {
        tier.close();
        tier = TestPools.diskTier(Long.MAX_VALUE / 2, disk);
        pool = new TieredPool(memory, tier);
        byte[] content = content(1 << 20);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, 0, false);
        int taken = 0;
        for (int piece; (piece = output.append(content, taken, 10_000)) > 0; ) {
            taken += piece;
        }
        assertThat(taken).isGreaterThan((int) MEMORY_BYTES / 2);
        assertThat(bytes(output.slices())).isEqualTo(Arrays.copyOf(content, taken));
        output.discard();
    }

    /** Writes beyond the process's limit of file sizes fail with EFBIG, as those to a broken disk do with EIO. */
    @Test
    void failedWriteEndsTheOutput() throws Exception {
        Lease before = Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, 64 << 20, 64 << 20));
        byte[] content = content(600_000);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, 2 << 20, false);
        int taken;
        limitFileSize("67108864:unlimited");
        try {
            taken = append(output, content);
            assertThat(output.append(content, taken, 1)).isZero();
            assertThat(output.toMapOutput(7, new long[] {taken}, new int[] {0})).isNull();
        } finally {
            limitFileSize("unlimited:unlimited");
        }
        assertThat(taken).isLessThan(content.length);
        assertThat(bytes(output.slices())).isEqualTo(Arrays.copyOf(content, taken));
        output.discard();
        before.close();
        assertThat(tier.usage().leases()).isZero();
    }

    private static void limitFileSize(String softAndHard) throws Exception {
        String pid = Long.toString(ProcessHandle.current().pid());
        Process prlimit = new ProcessBuilder("prlimit", "--pid", pid, "--fsize=" + softAndHard)
                .inheritIO()
                .start();
        assertThat(prlimit.waitFor()).isZero();
    }

    @Test
    void aFileThatWasTruncatedDoesNotPassForIntact() throws Exception {
        byte[] content = content(1 << 20);
        List<Lease> full = TestPools.fill(memory);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, content.length, false);
        append(output, content);
        full.forEach(Lease::close);
        try (MapOutput made = finish(output, content)) {
            Path file =
                    DiskTier.file(tier.directories(), tier.token(), made.entry().dataRegion());
            try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
                open.setLength(10);
                open.setLength(4 << 20);
            }
            assertThat(made.block(1).isIntact()).isFalse();
            assertThat(Crc32c.of(made.stored(0, 1).pieces())).isNotEqualTo(crc(content, 0, content.length / 2));
        }
    }

    /** Spill files hold one partition after another: what follows is not this one's. */
    @Test
    void noMoreThanItsPartIsTakenOfAChannel() throws Exception {
        byte[] content = content(700_000);
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, 0, false);
        ByteArrayInputStream source = new ByteArrayInputStream(content);
        ReadableByteChannel channel = Channels.newChannel(source);
        assertThat(output.append(channel, 200_000)).isTrue();
        assertThat(source.available()).isEqualTo(500_000);
        assertThat(output.append(channel, 300_001)).isTrue();
        assertThat(source.available()).isEqualTo(199_999);
        try (MapOutput made = finish(output, Arrays.copyOf(content, 500_001))) {
            assertThat(made.entry().dataBytes()).isEqualTo(500_001);
        }
        ChunkedOutput longer = new ChunkedOutput(pool, CHUNK_BYTES, 0, false);
        assertThatThrownBy(() -> longer.append(channel, 200_000))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("199999 of 200000");
        longer.discard();
    }

    @Test
    void anOutputWhoseIndexFindsNoRoomIsAsItWas() throws Exception {
        pool = TieredPool.of(memory);
        Lease hole = TestPools.reserve(memory, Purpose.STAGING, CHUNK_BYTES);
        byte[] content = content((int) (MEMORY_BYTES - CHUNK_BYTES));
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, 0, false);
        assertThat(append(output, content)).isEqualTo(content.length);
        assertThat(output.toMapOutput(7, new long[] {content.length}, new int[] {0}))
                .isNull();
        assertThat(bytes(output.slices())).isEqualTo(content);
        hole.close();
        try (MapOutput made = finish(output, content)) {
            output.discard();
            assertThat(memory.usage().usedBytes())
                    .as("not the output's any more")
                    .isGreaterThan(content.length);
            assertThat(made.block(0).isIntact()).isTrue();
        }
        assertThat(memory.usage().usedBytes()).isZero();
    }

    /** What its last lease was cut by may be another's at once. */
    @Test
    void noWritesAfterTheIndexFails() throws Exception {
        pool = TieredPool.of(memory);
        byte[] content = content((int) (MEMORY_BYTES - CHUNK_BYTES / 2));
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, 0, false);
        assertThat(append(output, content)).isEqualTo(content.length);
        int partitions = 10_000;
        assertThat(output.toMapOutput(7, new long[partitions], new int[partitions]))
                .as("its index takes more than is left")
                .isNull();
        List<Lease> others = TestPools.fill(memory);
        assertThat(others).as("released bytes").isNotEmpty();
        assertThat(append(output, content(10_000))).isZero();
        assertThat(bytes(output.slices())).isEqualTo(content);
        others.forEach(Lease::close);
        output.discard();
        output.discard();
        assertThat(memory.usage().usedBytes()).isZero();
    }

    @Test
    void anOutputThatCountsAsRefusedTakesNothing() throws Exception {
        ChunkedOutput output = new ChunkedOutput(pool, CHUNK_BYTES, 0, true);
        assertThat(output.append(content(10), 0, 10)).isZero();
        assertThat(output.slices()).isEmpty();
        assertThat(memory.usage().leases()).isZero();
        output.discard();
    }
}
