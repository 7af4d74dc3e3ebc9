// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.TestPools;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The same bytes in memory, in an array and in a file. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class StoredSliceTest {
    private static final int LENGTH = 1000;
    private static final int BEFORE = 24;

    @TempDir
    Path directory;

    private final byte[] content = new byte[LENGTH];
    private final NativeBuffer buffer = new NativeBuffer(BEFORE + LENGTH);
    private final NativeBuffer target = new NativeBuffer(LENGTH + 1);
    private final MemorySlice memory = new MemorySlice(buffer.address(BEFORE), LENGTH);
    private DiskFile file;

    @BeforeEach
    void write() throws IOException {
        new Random(7).nextBytes(content);
        memory.putBytes(0, content, 0, LENGTH);
        file = DiskFile.create(directory.resolve("file"));
        FileSlice.all(file).slice(BEFORE, LENGTH).write(memory);
    }

    @AfterEach
    void close() {
        file.close();
        buffer.close();
        target.close();
    }

    private List<StoredSlice> kinds() {
        return List.of(memory, new HeapSlice(content.clone()), new FileSlice(file, BEFORE, LENGTH));
    }

    private byte[] part(int from, int length) {
        return Arrays.copyOfRange(content, from, from + length);
    }

    @Test
    void partsAndPartsOfPartsHoldTheirBytes() {
        assertThat(kinds()).allSatisfy(slice -> {
            assertThat(slice.lengthBytes()).isEqualTo(LENGTH);
            assertThat(TestPools.bytes(slice)).isEqualTo(content);
            StoredSlice part = slice.slice(100, 300);
            assertThat(part.lengthBytes()).isEqualTo(300);
            assertThat(TestPools.bytes(part)).isEqualTo(part(100, 300));
            assertThat(TestPools.bytes(part.slice(7, 293))).isEqualTo(part(107, 293));
            assertThat(part.slice(300, 0).lengthBytes()).isZero();
            assertThat(TestPools.bytes(part.inMemory())).isEqualTo(part(100, 300));
            assertThat(TestPools.bytes(part.inMemory().slice(1, 5))).isEqualTo(part(101, 5));
        });
    }

    @Test
    void numbersAreLittleEndian() {
        ByteBuffer expected = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
        assertThat(kinds()).allSatisfy(slice -> {
            StoredSlice part = slice.slice(3, LENGTH - 3);
            assertThat(slice.getInt(9)).isEqualTo(expected.getInt(9));
            assertThat(part.getInt(LENGTH - 7)).isEqualTo(expected.getInt(LENGTH - 4));
            assertThat(part.getLong(5)).isEqualTo(expected.getLong(8));
            assertThat(part.getLong(LENGTH - 11)).isEqualTo(expected.getLong(LENGTH - 8));
            assertThat(part.inMemory().getLong(5)).isEqualTo(expected.getLong(8));
            assertThat(part.inMemory().getInt(6)).isEqualTo(expected.getInt(9));
        });
    }

    @Test
    void bytesAreCopiedToTheirPlaceInAnArray() {
        assertThat(kinds()).allSatisfy(slice -> {
            byte[] array = new byte[50];
            slice.getBytes(LENGTH - 30, array, 10, 30);
            assertThat(Arrays.copyOfRange(array, 10, 40)).isEqualTo(part(LENGTH - 30, 30));
            assertThat(Arrays.copyOf(array, 10)).containsOnly(0);
            assertThat(Arrays.copyOfRange(array, 40, 50)).containsOnly(0);
        });
    }

    @Test
    void aWholeSliceIsCopiedToAnAddressAndNothingBehindIt() {
        assertThat(kinds()).allSatisfy(slice -> {
            target.clear();
            slice.slice(200, 500).copyToAddress(target.address());
            MemorySlice copied = new MemorySlice(target.address(), LENGTH + 1);
            assertThat(TestPools.bytes(copied.slice(0, 500))).isEqualTo(part(200, 500));
            assertThat(TestPools.bytes(copied.slice(500, LENGTH - 499))).containsOnly(0);
        });
    }

    @Test
    void nothingBeyondASliceIsReached() {
        assertThat(kinds()).allSatisfy(slice -> {
            StoredSlice part = slice.slice(100, 300);
            assertOutside(() -> part.slice(1, 300));
            assertOutside(() -> part.slice(-1, 2));
            assertOutside(() -> part.slice(300, -1));
            assertOutside(() -> part.getInt(297));
            assertOutside(() -> part.getLong(293));
            assertOutside(() -> part.getLong(-1));
            assertOutside(() -> part.getBytes(299, new byte[2], 0, 2));
            assertOutside(() -> part.getBytes(0, new byte[2], 1, 2));
            assertOutside(() -> part.getBytes(0, new byte[2], -1, 1));
        });
    }

    private static void assertOutside(ThrowingCallable access) {
        assertThatThrownBy(access).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void onlyWhatLiesOnDiskIsCopiedToBeInMemory() throws Exception {
        assertThat(memory.inMemory()).isSameAs(memory);
        StoredSlice heap = new HeapSlice(content);
        assertThat(heap.inMemory()).isSameAs(heap);
        StoredSlice copy = new FileSlice(file, BEFORE, LENGTH).inMemory();
        file.truncate();
        assertThat(TestPools.bytes(copy)).isEqualTo(content);
        assertThatThrownBy(() -> FileSlice.all(file).inMemory())
                .as("as long as a file can be")
                .isInstanceOf(ArithmeticException.class);
    }

    @Test
    void aFileSliceTakesWhatFitsIntoIt() throws Exception {
        FileSlice place = FileSlice.all(file).slice(5000, 100);
        assertThat(place.path()).isEqualTo(file.path());
        place.write(memory.slice(0, 100));
        assertThat(TestPools.bytes(place)).isEqualTo(part(0, 100));
        assertOutside(() -> place.write(memory.slice(0, 101)));
    }

    @Test
    void memoryIsWrittenWhereItIsSaid() {
        memory.clear();
        assertThat(TestPools.bytes(memory)).containsOnly(0);
        memory.putInt(4, 0x01020304);
        memory.putLong(10, 0x1112131415161718L);
        memory.putBytes(30, new byte[] {9, 8, 7, 6}, 1, 2);
        byte[] expected = new byte[LENGTH];
        ByteBuffer.wrap(expected)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(4, 0x01020304)
                .putLong(10, 0x1112131415161718L)
                .put(30, (byte) 8)
                .put(31, (byte) 7);
        assertThat(TestPools.bytes(memory)).isEqualTo(expected);
        assertThat(memory.getByte(30)).isEqualTo((byte) 8);
        assertOutside(() -> memory.putInt(LENGTH - 3, 1));
        assertOutside(() -> memory.putBytes(0, new byte[2], 1, 2));
        assertOutside(() -> memory.getByte(LENGTH));
    }

    @Test
    void memoryIsCopiedToTheStartOfOtherMemory() {
        MemorySlice other = new MemorySlice(target.address(), LENGTH + 1);
        other.clear();
        memory.copyTo(other);
        assertThat(TestPools.bytes(other.slice(0, LENGTH))).isEqualTo(content);
        assertThat(other.getByte(LENGTH)).isZero();
        assertOutside(() -> memory.copyTo(other.slice(0, LENGTH - 1)));
    }

    @Test
    void aByteBufferSeesTheSameMemory() {
        ByteBuffer view = memory.asByteBuffer();
        assertThat(view.capacity()).isEqualTo(LENGTH);
        assertThat(view.isDirect()).isTrue();
        view.put(17, (byte) 77);
        assertThat(memory.getByte(17)).isEqualTo((byte) 77);
        MemorySlice longest = new MemorySlice(memory.address(), Integer.MAX_VALUE);
        assertThat(longest.asByteBuffer().capacity()).isEqualTo(Integer.MAX_VALUE);
        assertThatThrownBy(() -> new MemorySlice(memory.address(), 1L << 31).asByteBuffer())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("2147483648");
    }
}
