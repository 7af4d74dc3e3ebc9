// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Bytes in memory and on disk, cut into partitions and compared with their checksums. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class StoredRangeTest {
    private static final int LENGTH = 200_000;

    @TempDir(factory = ShmTempDirs.class)
    Path shm;

    @TempDir
    Path local;

    private final byte[] content = new byte[LENGTH];
    private TieredPool pool;
    private Lease inMemory;
    private Lease onDisk;
    private MemorySlice memory;
    private StoredSlice file;

    @BeforeEach
    void open() throws InterruptedException {
        Pool tier = TestPools.create(shm, 1 << 20, 1 << 20);
        pool = new TieredPool(tier, TestPools.diskTierOf(3, local));
        new Random(3).nextBytes(content);
        inMemory = TestPools.reserve(tier, Purpose.MAP_OUTPUT, LENGTH);
        inMemory.memory().putBytes(0, content, 0, LENGTH);
        memory = inMemory.memory().slice(0, LENGTH);
        onDisk = TestPools.filledOnDisk(pool, content);
        file = onDisk.bytes().slice(0, LENGTH);
    }

    @AfterEach
    void close() {
        inMemory.close();
        onDisk.close();
        pool.memory().close();
        Objects.requireNonNull(pool.disk()).close();
    }

    private int checksum(int from, int to) {
        CRC32C crc = new CRC32C();
        crc.update(content, from, to - from);
        return (int) crc.getValue();
    }

    private StoredRange range(List<StoredSlice> pieces, long[] lengths, int... checksums) {
        return new StoredRange(new BlockRange(List.of(), lengths, checksums), pieces);
    }

    @Test
    void checksumsAreThoseOfTheStandardWhereverTheBytesLie() throws Exception {
        byte[] digits = "123456789".getBytes(StandardCharsets.US_ASCII);
        memory.putBytes(5, digits, 0, digits.length);
        assertThat(Crc32c.of(memory.slice(5, 9))).isEqualTo(0xE3069283);
        assertThat(Crc32c.of(List.of(memory.slice(5, 4), memory.slice(9, 5)))).isEqualTo(0xE3069283);
        assertThat(Crc32c.of(memory.slice(5, 0))).isZero();
        assertThat(Crc32c.of(List.of())).isZero();
    }

    @Test
    void ofAFileAllPiecesCount() throws Exception {
        assertThat(Crc32c.of(List.of(file))).isEqualTo(checksum(0, LENGTH));
        assertThat(Crc32c.of(List.of(file.slice(1, 64 << 10)))).isEqualTo(checksum(1, (64 << 10) + 1));
        assertThat(Crc32c.of(List.of(file.slice(9, 100), memory.slice(109, 70_000), file.slice(70_109, 70_000))))
                .isEqualTo(checksum(9, 140_109));
        assertThat(Crc32c.of(List.of(file.slice(9, 0)))).isZero();
    }

    @Test
    void aCursorCutsWherePiecesEnd() {
        SliceCursor cursor = new SliceCursor(List.of(memory.slice(0, 10), memory.slice(100, 20), memory.slice(200, 5)));
        assertThat(cursor.take(0)).isEmpty();
        assertThat(cursor.take(4)).containsExactly(memory.slice(0, 4));
        assertThat(cursor.take(6)).containsExactly(memory.slice(4, 6));
        assertThat(cursor.take(1)).containsExactly(memory.slice(100, 1));
        assertThat(cursor.take(21)).containsExactly(memory.slice(101, 19), memory.slice(200, 2));
        assertThat(cursor.take(3)).containsExactly(memory.slice(202, 3));
        assertThat(cursor.take(0)).isEmpty();
        assertThatThrownBy(() -> cursor.take(1)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void aRangeIsIntactIfEveryPartitionIs() throws Exception {
        List<StoredSlice> pieces = List.of(memory.slice(0, 50), file.slice(50, 100), memory.slice(150, 50));
        long[] lengths = {30, 0, 100, 70};
        int[] sums = {checksum(0, 30), 0, checksum(30, 130), checksum(130, 200)};
        assertThat(range(pieces, lengths, sums).isIntact()).isTrue();
        for (int p = 0; p < sums.length; p++) {
            int[] wrong = sums.clone();
            wrong[p]++;
            assertThat(range(pieces, lengths, wrong).isIntact())
                    .as("partition %d", p)
                    .isFalse();
        }
    }

    @Test
    void aRangeOfTooManyOrTooFewBytesIsNotIntact() throws Exception {
        long[] lengths = {30, 20};
        int[] sums = {checksum(0, 30), checksum(30, 50)};
        assertThat(range(List.of(memory.slice(0, 50)), lengths, sums).isIntact())
                .isTrue();
        assertThat(range(List.of(memory.slice(0, 51)), lengths, sums).isIntact())
                .isFalse();
        assertThat(range(List.of(memory.slice(0, 49)), lengths, sums).isIntact())
                .isFalse();
        assertThat(range(List.of(), lengths, sums).isIntact()).isFalse();
        assertThat(range(List.of(), new long[0]).isIntact()).isTrue();
        assertThat(range(List.of(memory.slice(0, 1)), new long[0]).isIntact()).isFalse();
    }

    @Test
    void anEmptyRangeHasPartitionsAndNoBytes() throws Exception {
        BlockRange empty = BlockRange.empty(3);
        assertThat(empty.lengths()).containsExactly(0, 0, 0);
        assertThat(empty.checksums()).containsExactly(0, 0, 0);
        assertThat(empty.lengthBytes()).isZero();
        assertThat(empty.matches(List.of())).isTrue();
        BlockRange two = new BlockRange(
                List.of(new RemoteSlice(0, 0, 5), new RemoteSlice(1, 9, 6)), new long[] {11}, new int[1]);
        assertThat(two.lengthBytes()).isEqualTo(11);
    }

    @Test
    void aBlockIsCopiedToItsPlaceAndKnowsWhatLiesOnDisk() throws Exception {
        List<StoredSlice> pieces = List.of(file.slice(10, 20), memory.slice(30, 5), file.slice(35, 65));
        StoredBlock block = new StoredBlock(pieces, 90, checksum(10, 100));
        byte[] target = new byte[100];
        block.copyTo(target, 7);
        assertThat(Arrays.copyOfRange(target, 7, 97)).isEqualTo(Arrays.copyOfRange(content, 10, 100));
        assertThat(Arrays.copyOf(target, 7)).containsOnly(0);
        assertThat(Arrays.copyOfRange(target, 97, 100)).containsOnly(0);
        assertThat(block.bytesOnDisk()).isEqualTo(85);
        assertThat(block.isIntact()).isTrue();
        assertThat(new StoredBlock(pieces, 90, checksum(10, 99)).isIntact()).isFalse();
        assertThat(StoredBlock.EMPTY.isIntact()).isTrue();
        assertThat(StoredBlock.EMPTY.bytesOnDisk()).isZero();
        assertThat(new StoredBlock(List.of(memory.slice(0, 9)), 9, 0).bytesOnDisk())
                .isZero();
    }
}
