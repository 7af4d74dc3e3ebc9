// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests with rows of random schemas, other records, and damage. */
@Tag("unit")
@Timeout(60)
class RowPackerTest {
    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final RowPacker packer = new RowPacker();
    private final RowUnpacker unpacker = new RowUnpacker();

    private static byte[] withSlack(byte[] bytes, int length) {
        return Arrays.copyOf(bytes, length + VaryingBytes.SLACK_BYTES);
    }

    /** Returns the packed bytes; none if these are not worth it. */
    private byte[] packed(byte[] block) {
        int whole = packer.compare(withSlack(block, block.length), block.length);
        assertThat(whole).as("seed %d", seed).isEqualTo(block.length);
        byte[] target = new byte[RowPacker.packedRoom(whole)];
        int length = packer.pack(withSlack(block, block.length), target);
        return Arrays.copyOf(target, Math.max(length, 0));
    }

    private byte[] unpacked(byte[] packed, int bytes) throws IOException {
        byte[] target = new byte[bytes + VaryingBytes.SLACK_BYTES];
        unpacker.unpack(withSlack(packed, packed.length), packed.length, target, bytes);
        return Arrays.copyOf(target, bytes);
    }

    private static byte[] block(int... rowLengths) {
        ByteBuffer out = ByteBuffer.allocate(Arrays.stream(rowLengths).sum() + Integer.BYTES * rowLengths.length);
        for (int length : rowLengths) {
            out.putInt(length).position(out.position() + length);
        }
        return out.array();
    }

    @RepeatedTest(50)
    void rowsOfAnySchemaComeBack() throws IOException {
        GeneratedRows rows = GeneratedRows.ofAnySchema(random, 1 + random.nextInt(80));
        // One packer for frames of other schemas and sizes, as one task has it.
        for (int i = 0; i < 4; i++) {
            byte[] block = rows.block(1 + random.nextInt(200));
            byte[] packed = packed(block);
            if (packed.length > 0) {
                assertThat(unpacked(packed, block.length)).as("seed %d", seed).isEqualTo(block);
            }
        }
    }

    /** Numbers take a third at most, and what two rows have in common a bit more than nothing. */
    @Test
    void rowsOfNumbersBecomeSmall() {
        byte[] block = GeneratedRows.ofNumbers(random).block(1_000);
        assertThat(packed(block)).as("seed %d", seed).isNotEmpty().hasSizeLessThan(block.length * 3 / 8);
        assertThat(packed(block(64, 64))).isNotEmpty().hasSizeLessThan(30);
    }

    @Test
    void rowsOfNoFieldsAndOfOneWordComeBack() throws IOException {
        for (byte[] block : new byte[][] {block(0, 0, 0, 0, 0, 0, 0, 0), block(8, 8, 8, 8), block(new int[1_000])}) {
            byte[] packed = packed(block);
            assertThat(packed).isNotEmpty();
            assertThat(unpacked(packed, block.length)).isEqualTo(block);
        }
    }

    /** Zeros beyond what all rows share, and lengths of tails in no, one and two bytes. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 255, 256, 4_000})
    void tailsOfAnyLengthComeBack(int tailWords) throws IOException {
        byte[] block = blockWithTail(tailWords);
        byte[] packed = packed(block);
        assertThat(packed).isNotEmpty();
        assertThat(unpacked(packed, block.length)).as("seed %d", seed).isEqualTo(block);
    }

    private byte[] blockWithTail(int tailWords) {
        int[] lengths = new int[200];
        Arrays.fill(lengths, 800);
        lengths[random.nextInt(200)] += 8 * tailWords;
        byte[] block = block(lengths);
        for (int at = 0, row = 0; row < lengths.length; at += Integer.BYTES + lengths[row++]) {
            // A byte that varies, and one in what may be the tail.
            block[at + 11] = (byte) random.nextInt();
            block[at + Integer.BYTES + lengths[row] - 1] = (byte) random.nextInt();
        }
        return block;
    }

    /** Of a string of a fixed length, for example: more bytes than a word carries. */
    @ParameterizedTest
    @ValueSource(ints = {7, 8, 9, 16, 17, 30})
    void longRunsOfVaryingBytesComeBack(int bytes) throws IOException {
        int[] lengths = new int[50];
        Arrays.fill(lengths, 120);
        byte[] block = block(lengths);
        for (int at = 0; at < block.length; at += Integer.BYTES + 120) {
            byte[] run = new byte[bytes];
            random.nextBytes(run);
            System.arraycopy(run, 0, block, at + Integer.BYTES + 11, bytes);
        }
        byte[] packed = packed(block);
        assertThat(packed).isNotEmpty();
        assertThat(unpacked(packed, block.length)).as("seed %d", seed).isEqualTo(block);
    }

    /** The number of shared words is bounded; further words are tails, of rows of equal length. */
    @Test
    void rowsOfMoreWordsThanAreComparedComeBack() throws IOException {
        byte[] block = block(8 * VaryingBytes.MAX_WORDS + 16, 8 * VaryingBytes.MAX_WORDS + 16);
        for (int i = 4; i < block.length; i += 500) {
            block[i] = 1;
        }
        block[0] = 0;
        byte[] packed = packed(block);
        assertThat(packed).isNotEmpty();
        assertThat(unpacked(packed, block.length)).isEqualTo(block);
    }

    @Test
    void randomBytesAreNotWorthIt() {
        byte[] block = block(80, 80, 80, 80);
        for (int at = 4; at < block.length; at += 84) {
            byte[] row = new byte[80];
            random.nextBytes(row);
            System.arraycopy(row, 0, block, at, 80);
        }
        assertThat(packed(block)).as("seed %d", seed).isEmpty();
    }

    @Test
    void onlyWholeRowsAreTaken() {
        byte[] block = block(16, 24);
        for (int length = 0; length <= block.length; length++) {
            int whole = length == block.length ? length : length >= 20 ? 20 : 0;
            assertThat(packer.compare(withSlack(block, length), length)).isEqualTo(whole);
        }
        assertThat(RowPacker.firstRowBytes(block, block.length)).isEqualTo(20);
        assertThat(RowPacker.firstRowBytes(block, 3)).isEqualTo(3);
    }

    /** Kryo's records, and whatever else has no lengths, or lengths that no row has. */
    @Test
    void onlyRowsArePacked() {
        for (int length : new int[] {-1, -8, 1, 7, 12, Integer.MIN_VALUE}) {
            byte[] block = block(16, 16, 16);
            ByteBuffer.wrap(block).putInt(random.nextBoolean() ? 0 : 20, length);
            assertThat(packer.compare(withSlack(block, block.length), block.length))
                    .as("seed %d, length %d", seed, length)
                    .isZero();
        }
        byte[] huge = block(16);
        ByteBuffer.wrap(huge).putInt(0, Integer.MAX_VALUE - 7);
        assertThat(packer.compare(withSlack(huge, huge.length), huge.length)).isZero();
        assertThat(RowPacker.firstRowBytes(huge, huge.length)).isEqualTo(Integer.MAX_VALUE - 3L);
    }

    /** Every byte, and every bit of the lengths; results have the right length or are refused. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void damageFailsOrMakesOtherRows(boolean tails) {
        byte[] block =
                tails ? blockWithTail(100) : GeneratedRows.ofNumbers(random).block(40);
        byte[] packed = packed(block);
        int failures = 0;
        for (int place = 0; place < packed.length * Byte.SIZE; place++) {
            byte[] damaged = packed.clone();
            damaged[place / Byte.SIZE] ^= (byte) (1 << place % Byte.SIZE);
            failures += isRefused(damaged, block.length) ? 1 : 0;
        }
        assertThat(failures).as("seed %d", seed).isPositive();
        // Lengths of tails and the bytes after them, with the right length.
        for (int i = 0; i < 20_000; i++) {
            byte[] noise = packed.clone();
            int from = random.nextInt(packed.length);
            for (int k = from; k < Math.min(packed.length, from + 300); k++) {
                noise[k] = (byte) random.nextInt();
            }
            isRefused(noise, block.length);
        }
        for (int i = 0; i < 20_000; i++) {
            byte[] noise = new byte[random.nextInt(400)];
            random.nextBytes(noise);
            System.arraycopy(packed, 0, noise, 0, Math.min(noise.length, random.nextInt(80)));
            isRefused(noise, 1 + random.nextInt(4_000));
        }
    }

    /** Otherwise bytes of another frame in the array would be decoded as rows. */
    @Test
    void tailsThatAreShorterThanTheirFrameAreRefused() {
        byte[] block = blockWithTail(77);
        byte[] packed = packed(block);
        int refused = 0;
        for (int place = 0; place < packed.length; place++) {
            if (packed[place] == 77) {
                byte[] damaged = packed.clone();
                damaged[place] = 76;
                refused += isRefused(damaged, block.length) ? 1 : 0;
            }
        }
        assertThat(refused).as("seed %d", seed).isPositive();
    }

    private boolean isRefused(byte[] packed, int bytes) {
        try {
            unpacked(packed, bytes);
            return false;
        } catch (IOException e) {
            assertThat(e).as("seed %d", seed).hasMessageContaining("damaged frame of packed rows");
            return true;
        }
    }

    @Test
    void framesThatEndEarlyOrLateAreRefused() {
        byte[] block = GeneratedRows.ofNumbers(random).block(40);
        byte[] packed = packed(block);
        for (int length = 0; length < packed.length + 8; length++) {
            byte[] cut = Arrays.copyOf(packed, length);
            if (length != packed.length) {
                assertThatThrownBy(() -> unpacked(cut, block.length)).isInstanceOf(IOException.class);
            }
        }
    }
}
