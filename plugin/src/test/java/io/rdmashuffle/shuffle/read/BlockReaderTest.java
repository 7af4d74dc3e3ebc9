// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.Crc32c;
import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import io.rdmashuffle.shuffle.format.CodecCost;
import io.rdmashuffle.shuffle.format.FrameCodec;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.FetchFailed;
import org.apache.spark.SparkConf;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple3;

/** Blocks of all sizes in one piece of memory, some of which are gone or damaged, read into buffers of all sizes. */
@Tag("unit")
@Timeout(60)
class BlockReaderTest {
    private static final int MEMORY_BYTES = 4 << 20;
    private static final Frames FRAMES = Frames.of(new SparkConf(false));
    private static final BlockManagerId OWNER = BlockManagerId.apply("1", "localhost", 7337, scala.Option.empty());

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final NativeBuffer memory = new NativeBuffer(MEMORY_BYTES);
    private final MemorySlice slice = new MemorySlice(memory.address(), MEMORY_BYTES);
    private final TempShuffleReadMetrics metrics = new TempShuffleReadMetrics();
    private final ShuffleCounters counters = new ShuffleCounters();
    private final MemorySource source = new MemorySource();
    private final List<BlockRequest> wanted = new ArrayList<>();

    @AfterEach
    void everyBlockWasClosed() {
        assertThat(source.open()).as("seed %d", seed).isZero();
        memory.close();
    }

    private BlockReader visible(boolean verify) {
        return new BlockReader(
                wanted,
                new HashMap<>(Map.of(OWNER, source)),
                () -> {},
                new ReadTally(metrics, counters, false, true),
                verify,
                FRAMES);
    }

    private BlockRequest want(long mapId) {
        BlockRequest block = new BlockRequest(
                OWNER, new Tuple3<>(new ShuffleBlockId(0, mapId, 0), 1L, 100 + Math.toIntExact(mapId)));
        wanted.add(block);
        return block;
    }

    /** Puts a block of random bytes, in one or two pieces, behind the others. */
    private byte[] put(long mapId, int place, int length, boolean damaged) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        slice.putBytes(place, bytes, 0, length);
        int cut = random.nextInt(length);
        List<StoredSlice> pieces = cut == 0
                ? List.of(slice.slice(place, length))
                : List.of(slice.slice(place, cut), slice.slice(place + cut, length - cut));
        int checksum = Crc32c.of(slice.slice(place, length)) + (damaged ? 1 : 0);
        source.put(mapId, new StoredBlock(pieces, length, checksum));
        return bytes;
    }

    /** Puts a block behind the others, compressed, in two pieces; returns how much it takes. */
    private int putCompressed(long mapId, int place, byte[] raw) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        FrameCodec codec = random.nextBoolean() ? FrameCodec.APPLICATION : FrameCodec.ZSTD;
        try (OutputStream frames = FRAMES.compress(out, codec, new CodecCost())) {
            frames.write(raw);
        }
        putInTwoPieces(mapId, place, out.toByteArray());
        return out.size();
    }

    /** Puts bytes behind the others, cut within the mark with which compressed blocks begin. */
    private void putInTwoPieces(long mapId, int place, byte[] bytes) {
        slice.putBytes(place, bytes, 0, bytes.length);
        List<StoredSlice> pieces = List.of(slice.slice(place, 5), slice.slice(place + 5, bytes.length - 5));
        int checksum = Crc32c.of(slice.slice(place, bytes.length));
        source.put(mapId, new StoredBlock(pieces, bytes.length, checksum));
    }

    private byte[] halfRandom(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        Arrays.fill(bytes, length / 2, length, (byte) 0);
        return bytes;
    }

    private byte[] readAll(BlockReader visible) throws IOException {
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        byte[] target = new byte[20_000];
        while (true) {
            int offset = random.nextInt(100);
            int count = visible.read(target, offset, 1 + random.nextInt(target.length - offset));
            if (count < 0) {
                return read.toByteArray();
            }
            assertThat(count).isPositive();
            read.write(target, offset, count);
        }
    }

    @Test
    void presentBlocksComeInOrderAndOthersAreMisses() throws IOException {
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        List<BlockRequest> gone = new ArrayList<>();
        int place = 0;
        int found = 0;
        long damages = 0;
        for (long mapId = 0; mapId < 200; mapId++) {
            BlockRequest block = want(mapId);
            int length = 1 + random.nextInt(random.nextInt(10) == 0 ? 100_000 : 300);
            boolean damaged = random.nextInt(10) == 0;
            if (random.nextInt(10) == 0) {
                gone.add(block);
            } else {
                byte[] bytes = put(mapId, place, length, damaged);
                place += length;
                if (damaged) {
                    gone.add(block);
                    damages++;
                } else {
                    expected.write(bytes);
                    found++;
                }
            }
        }
        BlockReader visible = visible(true);
        assertThat(readAll(visible)).as("seed %d", seed).isEqualTo(expected.toByteArray());
        visible.close();
        assertThat(visible.takeMissed()).as("seed %d", seed).isEqualTo(gone);
        assertThat(visible.takeMissed()).isEmpty();
        assertThat(source.isClosed()).isTrue();
        assertThat(metrics.remoteBlocksFetched()).isEqualTo(found);
        assertThat(metrics.remoteBytesRead()).isEqualTo(expected.size());
        assertThat(counters.snapshot()).containsEntry(ShuffleCounter.SHM_BYTES, (long) expected.size());
        assertThat(counters.snapshot()).containsEntry(ShuffleCounter.CHECKSUM_FAILURES, damages);
    }

    @Test
    void compressedBlocksAreReadInPlaceAmongBareOnes() throws IOException {
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        int place = 0;
        for (long mapId = 0; mapId < 60; mapId++) {
            want(mapId);
            int length = 1 + random.nextInt(random.nextInt(4) == 0 ? 100_000 : 300);
            if (random.nextBoolean()) {
                byte[] raw = halfRandom(length);
                place += putCompressed(mapId, place, raw);
                expected.write(raw);
            } else {
                expected.write(put(mapId, place, length, false));
                place += length;
            }
        }
        try (BlockReader visible = visible(true)) {
            assertThat(readAll(visible)).as("seed %d", seed).isEqualTo(expected.toByteArray());
            assertThat(visible.takeMissed()).isEmpty();
        }
        assertThat(metrics.remoteBytesRead()).as("bytes as stored").isEqualTo(place);
    }

    @Test
    void aBlockThatIsAPrefixOfTheMarkIsBare() throws IOException {
        want(0);
        byte[] bytes = new byte[200];
        for (int i = 0; i < Frames.markBytes() - 1; i++) {
            bytes[i] = Frames.markByte(i);
        }
        putInTwoPieces(0, 0, bytes);
        try (BlockReader visible = visible(true)) {
            assertThat(readAll(visible)).isEqualTo(bytes);
        }
    }

    @Test
    void damagedCompressedBlocksAreMissed() throws IOException {
        List<BlockRequest> all = List.of(want(0), want(1));
        int first = putCompressed(0, 0, halfRandom(300));
        int second = putCompressed(1, first, halfRandom(100_000));
        slice.putBytes(first - 1, new byte[] {(byte) (slice.getByte(first - 1) + 1)}, 0, 1);
        slice.putBytes(first + second - 1, new byte[] {(byte) (slice.getByte(first + second - 1) + 1)}, 0, 1);
        try (BlockReader visible = visible(true)) {
            assertThat(readAll(visible)).as("seed %d", seed).isEmpty();
            assertThat(visible.takeMissed()).isEqualTo(all);
        }
    }

    /** Without checksums nothing else notices; the task must fail, and the block be written again. */
    @Test
    void damagedFramesThatAreNotVerifiedAreAFetchFailure() throws IOException {
        want(0);
        byte[] block = new byte[100];
        for (int i = 0; i < Frames.markBytes(); i++) {
            block[i] = Frames.markByte(i);
        }
        putInTwoPieces(0, 0, block);
        try (BlockReader visible = visible(false)) {
            assertThatThrownBy(() -> readAll(visible))
                    .isInstanceOf(FetchFailedException.class)
                    .hasMessageContaining("invalid frame header");
        }
    }

    @Test
    void blocksGivenAwayBeforeTheyAreReadAreMissed() throws IOException {
        List<BlockRequest> all = List.of(want(0), want(1));
        put(0, 0, 100, false);
        put(1, 100, 100_000, false);
        source.withdraw();
        try (BlockReader visible = visible(false)) {
            assertThat(readAll(visible)).isEmpty();
            assertThat(visible.takeMissed()).isEqualTo(all);
        }
    }

    /** Spark unregisters the map output with the reported index. */
    @Test
    void blockFreedDuringItsReadIsAFetchFailure() throws IOException {
        want(7);
        put(7, 0, 100_000, false);
        try (BlockReader visible = visible(true)) {
            assertThat(visible.read(new byte[10_000], 0, 10_000)).isPositive();
            source.withdraw();
            assertThatThrownBy(() -> visible.read(new byte[10_000], 0, 10_000))
                    .isInstanceOfSatisfying(FetchFailedException.class, failure -> {
                        FetchFailed reason = (FetchFailed) failure.toTaskFailedReason();
                        assertThat(reason.bmAddress()).isEqualTo(OWNER);
                        assertThat(reason.shuffleId()).isZero();
                        assertThat(reason.mapId()).isEqualTo(7);
                        assertThat(reason.mapIndex()).isEqualTo(107);
                        assertThat(reason.reduceId()).isZero();
                    });
        }
    }

    /** {@code RDD.pipe} reads in a thread of its own, which may go on after the task's end has closed everything. */
    @Test
    void nothingIsReadOnceTheTaskHasEnded() throws IOException {
        want(0);
        put(0, 0, 100_000, false);
        BlockReader visible = visible(true);
        assertThat(visible.read(new byte[10_000], 0, 10_000)).isPositive();
        visible.close();
        visible.close();
        assertThatThrownBy(() -> visible.read(new byte[10_000], 0, 10_000))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has ended");
    }
}
