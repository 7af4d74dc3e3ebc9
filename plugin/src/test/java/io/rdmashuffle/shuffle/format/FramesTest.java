// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.store.OutputRefusedException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Blocks of all sizes, compressed and bare, one after another, whole and damaged. */
@Tag("unit")
@Timeout(60)
class FramesTest {
    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);

    private static Frames frames(String codec) {
        return Frames.of(new SparkConf(false).set("spark.io.compression.codec", codec));
    }

    /** Half random, half zeros. */
    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        Arrays.fill(bytes, length / 2, length, (byte) 0);
        return bytes;
    }

    private byte[] compressed(Frames frames, byte[] raw) throws IOException {
        return compressed(frames, FrameCodec.APPLICATION, raw, new CodecCost());
    }

    private byte[] compressed(Frames frames, FrameCodec with, byte[] raw, CodecCost cost) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (OutputStream block = frames.compress(out, with, cost)) {
            for (int done = 0; done < raw.length; ) {
                int piece = Math.min(raw.length - done, 1 + random.nextInt(100_000));
                block.write(raw, done, piece);
                done += piece;
            }
        }
        return out.toByteArray();
    }

    @ParameterizedTest
    @ValueSource(strings = {"lz4", "zstd", "snappy", "lzf"})
    void blocksThatFollowOneAnotherComeBack(String codec) throws IOException {
        Frames frames = frames(codec);
        ByteArrayOutputStream raw = new ByteArrayOutputStream();
        ByteArrayOutputStream stored = new ByteArrayOutputStream();
        for (int length : new int[] {1, 240, 5_000, 256 << 10, 0, 700_000}) {
            byte[] block = bytes(length);
            raw.write(block);
            stored.write(compressed(frames, block));
        }
        assertThat(stored.size()).isLessThan(raw.size() * 3 / 4);
        InputStream in = new ByteArrayInputStream(stored.toByteArray());
        assertThat(frames.open(in).readAllBytes()).as("seed %d", seed).isEqualTo(raw.toByteArray());
    }

    /** One task may have written its output with one codec, and another with the other. */
    @Test
    void blocksOfBothCodecsFollowOneAnother() throws IOException {
        Frames frames = frames("lz4");
        ByteArrayOutputStream raw = new ByteArrayOutputStream();
        ByteArrayOutputStream stored = new ByteArrayOutputStream();
        for (int i = 0; i < 20; i++) {
            byte[] block = bytes(1 + random.nextInt(500_000));
            raw.write(block);
            FrameCodec with = i % 2 == 0 ? FrameCodec.APPLICATION : FrameCodec.ZSTD;
            stored.write(compressed(frames, with, block, new CodecCost()));
        }
        InputStream in = new ByteArrayInputStream(stored.toByteArray());
        assertThat(frames.open(in).readAllBytes()).as("seed %d", seed).isEqualTo(raw.toByteArray());
    }

    /** Rows are packed, also behind what cannot be: one that is larger than a frame, or a block that has none. */
    @Test
    void blocksOfRowsAndOfOtherRecordsComeBack() throws IOException {
        Frames frames = frames("lz4");
        ByteArrayOutputStream raw = new ByteArrayOutputStream();
        ByteArrayOutputStream stored = new ByteArrayOutputStream();
        GeneratedRows numbers = GeneratedRows.ofNumbers(random);
        GeneratedRows strings = GeneratedRows.ofAnySchema(random, 20);
        byte[] large = ByteBuffer.allocate(700_004).putInt(700_000).array();
        byte[] cut = Arrays.copyOf(numbers.block(5_000), 300_001);
        byte[][] blocks = {
            numbers.block(1), numbers.block(9_000), strings.block(3_000), large, bytes(300_000), cut, new byte[3]
        };
        for (byte[] block : blocks) {
            raw.write(block);
            stored.write(compressed(frames, FrameCodec.ROWS, block, new CodecCost()));
        }
        random.nextBytes(large);
        ByteBuffer.wrap(large).putInt(700_000);
        byte[] many = numbers.block(14_000);
        byte[] mixed = concatenated(large, many);
        byte[] packed = compressed(frames, FrameCodec.ROWS, mixed, new CodecCost());
        assertThat(packed).as("seed %d", seed).hasSizeLessThan(large.length + 10_000 + many.length / 3);
        raw.write(mixed);
        stored.write(packed);
        InputStream in = new ByteArrayInputStream(stored.toByteArray());
        assertThat(frames.open(in).readAllBytes()).as("seed %d", seed).isEqualTo(raw.toByteArray());
    }

    private static byte[] concatenated(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    @Test
    void rowsOfNumbersTakeFewerBytesPackedThanCompressed() throws IOException {
        byte[] block = GeneratedRows.ofNumbers(random).block(5_000);
        CodecCost cost = new CodecCost();
        byte[] packed = compressed(frames("lz4"), FrameCodec.ROWS, block, cost);
        assertThat(packed).as("seed %d", seed).hasSizeLessThan(compressed(frames("lz4"), block).length);
        assertThat(packed[Frames.markBytes()]).isEqualTo((byte) FrameCodec.ROWS.number());
        assertThat(cost.rawBytes()).isEqualTo(block.length);
        assertThat(cost.storedBytes()).isEqualTo(packed.length);
    }

    @Test
    void damagedFramesOfPackedRowsFailOrHaveTheRightLength() throws IOException {
        Frames frames = frames("lz4");
        byte[] raw = GeneratedRows.ofNumbers(random).block(30);
        byte[] stored = compressed(frames, FrameCodec.ROWS, raw, new CodecCost());
        int failures = 0;
        // From the lengths on; another codec must not be handed these bytes.
        for (int place = Frames.markBytes() + 1; place < stored.length; place++) {
            byte[] damaged = stored.clone();
            damaged[place] ^= (byte) (1 << random.nextInt(8));
            try {
                assertThat(frames.open(new ByteArrayInputStream(damaged)).readAllBytes())
                        .as("seed %d, byte %d", seed, place)
                        .hasSameSizeAs(raw);
            } catch (IOException e) {
                failures++;
            }
        }
        assertThat(failures).as("seed %d", seed).isPositive();
    }

    @Test
    void aCodecThatDoesNotExistIsRefused() throws IOException {
        Frames frames = frames("lz4");
        byte[] stored = compressed(frames, bytes(100));
        stored[Frames.markBytes()] = 3;
        assertThatThrownBy(() -> frames.open(new ByteArrayInputStream(stored)).readAllBytes())
                .isInstanceOf(IOException.class)
                .hasMessageContaining("no codec has the number 3");
    }

    @Test
    void compressionTimeIsReported() throws IOException {
        CodecCost cost = new CodecCost();
        long stored = 0;
        for (int length : new int[] {1, 4 << 10, 700_000}) {
            stored += compressed(frames("lz4"), FrameCodec.APPLICATION, bytes(length), cost).length;
        }
        assertThat(cost.rawBytes()).isEqualTo(1 + (4 << 10) + 700_000);
        assertThat(cost.storedBytes()).isEqualTo(stored);
        assertThat(cost.nanos()).isPositive();
    }

    @Test
    void bareBlocksAreLeftAlone() throws IOException {
        Frames frames = frames("lz4");
        for (int length : new int[] {0, 1, 7, 8, 9, 100_000}) {
            byte[] block = bytes(length);
            assertThat(frames.open(new ByteArrayInputStream(block)).readAllBytes())
                    .isEqualTo(block);
        }
    }

    @Test
    void aBareBlockThatBeginsLikeACompressedOneIsRefused() throws IOException {
        byte[] block = compressed(frames("lz4"), bytes(50));
        for (int split = 0; split <= 12; split++) {
            int cut = split;
            assertThatThrownBy(() -> {
                        FrameMarkGuard out = new FrameMarkGuard(OutputStream.nullOutputStream());
                        out.write(block, 0, cut);
                        out.write(block, cut, block.length - cut);
                    })
                    .isInstanceOf(OutputRefusedException.class);
        }
        // Blocks that follow could make a mark of it.
        for (int length = 1; length < 8; length++) {
            FrameMarkGuard out = new FrameMarkGuard(OutputStream.nullOutputStream());
            out.write(block, 0, length);
            assertThatThrownBy(out::close).isInstanceOf(OutputRefusedException.class);
        }
        ByteArrayOutputStream target = new ByteArrayOutputStream();
        try (FrameMarkGuard out = new FrameMarkGuard(target)) {
            out.write(block, 0, 5);
            out.write(new byte[3]);
            out.write(block);
        }
        assertThat(target.size()).isEqualTo(8 + block.length);
    }

    @Test
    void soIsOneThatIsLookedAtAtOnce() throws IOException {
        byte[] block = compressed(frames("lz4"), bytes(50));
        for (int length = 1; length <= Frames.markBytes(); length++) {
            int begun = length;
            assertThatThrownBy(() -> FrameMarkGuard.check(block, begun)).isInstanceOf(OutputRefusedException.class);
            byte[] other = block.clone();
            for (int damaged = 1; damaged <= Math.min(2, length); damaged++) {
                other[length - damaged]++;
                assertThatThrownBy(() -> FrameMarkGuard.check(other, begun)).isInstanceOf(OutputRefusedException.class);
            }
            if (length > 2) {
                other[length - 3]++;
                FrameMarkGuard.check(other, length);
            }
        }
        FrameMarkGuard.check(block, 0);
    }

    /** Spark then reads the block again, or repeats its task, and diagnoses the damage (SPARK-36206). */
    @Test
    void aDamagedMarkIsNotTakenForBareRecords() throws IOException {
        Frames frames = frames("lz4");
        byte[] block = compressed(frames, bytes(50));
        for (int first = 0; first < Frames.markBytes(); first++) {
            for (int second = first; second < Frames.markBytes(); second++) {
                byte[] damaged = block.clone();
                damaged[first] ^= 0x55;
                damaged[second] ^= 0x0F;
                InputStream opened = frames.open(new ByteArrayInputStream(damaged));
                assertThatThrownBy(opened::read)
                        .isInstanceOf(IOException.class)
                        .hasMessageContaining("no frame header");
            }
        }
    }

    /**
     * Of LZ4 only the header: Spark decompresses it without looking where it reads and writes (CVE-2025-12183), which
     * ends the process now and then. Blocks are compared with their checksums before they come here.
     */
    @ParameterizedTest
    @CsvSource({"lz4, 24", "zstd, 2147483647"})
    void damagedFramesFailOrAreRight(String codec, int damageable) throws IOException {
        Frames frames = frames(codec);
        byte[] raw = bytes(3_000);
        byte[] stored = compressed(frames, raw);
        int places = Math.min(damageable, stored.length);
        int failures = 0;
        for (int place = 8; place < places; place++) {
            byte[] damaged = stored.clone();
            damaged[place] ^= (byte) (1 << random.nextInt(8));
            try {
                assertThat(frames.open(new ByteArrayInputStream(damaged)).readAllBytes())
                        .as("seed %d, byte %d", seed, place)
                        .hasSameSizeAs(raw);
            } catch (IOException e) {
                failures++;
            }
        }
        assertThat(failures).as("seed %d", seed).isPositive();
    }

    @Test
    void framesThatEndEarlyFail() throws IOException {
        Frames frames = frames("lz4");
        byte[] stored = compressed(frames, bytes(3_000));
        for (int length = 8; length < stored.length; length++) {
            byte[] cut = Arrays.copyOf(stored, length);
            // Deserialisers may take an EOFException for the end of the records.
            assertThatThrownBy(() -> frames.open(new ByteArrayInputStream(cut)).readAllBytes())
                    .isInstanceOf(IOException.class)
                    .isNotInstanceOf(EOFException.class);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"lz4", "zstd"})
    void aBlockThatIsClosedByAnotherThreadFailsItsReader(String codec) throws IOException {
        Frames frames = frames(codec);
        InputStream in = frames.open(new ByteArrayInputStream(compressed(frames, bytes(3_000))));
        assertThat(in.read()).isNotNegative();
        in.close();
        in.close();
        assertThatThrownBy(in::read).isInstanceOf(IOException.class);
    }
}
