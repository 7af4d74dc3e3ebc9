// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.Crc32c;
import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Function2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;

/** A stream for each block, whether it is read here, fetched, or fetched after it was missed here. */
@Tag("unit")
@Timeout(60)
class BlockStreamsTest {
    private static final int MEMORY_BYTES = 8 << 20;
    private static final BlockManagerId OWNER = BlockManagerId.apply("1", "localhost", 7337, scala.Option.empty());

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final NativeBuffer memory = new NativeBuffer(MEMORY_BYTES);
    private final MemorySlice slice = new MemorySlice(memory.address(), MEMORY_BYTES);
    private final MemorySource source = new MemorySource();
    private final TempShuffleReadMetrics metrics = new TempShuffleReadMetrics();
    private final ShuffleCounters counters = new ShuffleCounters();
    private final List<BlockRequest> here = new ArrayList<>();
    private final List<BlockRequest> others = new ArrayList<>();
    private final Map<BlockId, byte[]> written = new HashMap<>();
    private final Fetches fetches = new Fetches();
    private long used;
    private long maps;

    @AfterEach
    void everyBlockWasClosed() {
        assertThat(source.open()).as("seed %d", seed).isZero();
        memory.close();
    }

    /** Spark's fetch, which finds every block. */
    private final class Fetches implements FetchedBlocks.Fetch {
        private final List<List<BlockRequest>> asked = new ArrayList<>();
        private final List<Boolean> batches = new ArrayList<>();
        private final List<Runnable> atEnd = new ArrayList<>();

        @Override
        public Iterator<Tuple2<BlockId, InputStream>> start(
                List<BlockRequest> blocks, Function2<BlockId, InputStream, InputStream> wrap, boolean inBatches) {
            asked.add(blocks);
            batches.add(inBatches);
            return ScalaCollections.iterator(blocks.stream()
                    .map(block ->
                            new Tuple2<BlockId, InputStream>(block.id(), new ByteArrayInputStream(bytesOf(block))))
                    .iterator());
        }

        @Override
        public void atEnd(Runnable action) {
            atEnd.add(action);
        }
    }

    private BlockRequest write(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return write(bytes);
    }

    private BlockRequest write(byte[] bytes) {
        BlockRequest block = new BlockRequest(OWNER, new Tuple3<>(new ShuffleBlockId(0, maps++, 3), 1L, 0));
        written.put(block.id(), bytes);
        return block;
    }

    private BlockRequest store(BlockRequest block, int checksumError) {
        byte[] bytes = bytesOf(block);
        slice.putBytes(used, bytes, 0, bytes.length);
        MemorySlice place = slice.slice(used, bytes.length);
        used += bytes.length;
        source.put(block.id().mapId(), new StoredBlock(List.of(place), bytes.length, Crc32c.of(place) + checksumError));
        return block;
    }

    private byte[] bytesOf(BlockRequest block) {
        return Objects.requireNonNull(written.get(block.id()));
    }

    private BlockReader reader() {
        return reader(true);
    }

    private BlockReader reader(boolean verify) {
        return new BlockReader(
                here,
                new HashMap<>(Map.of(OWNER, source)),
                () -> {},
                new ReadTally(metrics, counters, false, false),
                verify,
                null);
    }

    private BlockStreams streams(BlockReader reader, Function2<BlockId, InputStream, InputStream> wrap) {
        return new BlockStreams(reader, others, fetches, wrap, true);
    }

    private BlockStreams streams(BlockReader reader) {
        return streams(reader, (id, bytes) -> bytes);
    }

    private int randomLength() {
        return 1 + random.nextInt(random.nextInt(4) == 0 ? 200_000 : 300);
    }

    @Test
    void everyBlockIsAStream() throws IOException {
        List<BlockRequest> missed = new ArrayList<>();
        List<BlockRequest> inOrder = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            BlockRequest block = write(randomLength());
            switch (random.nextInt(5)) {
                case 0 -> others.add(block);
                case 1 -> missed.add(block);
                case 2 -> missed.add(store(block, 1));
                default -> inOrder.add(store(block, 0));
            }
            if (others.isEmpty() || !others.get(others.size() - 1).equals(block)) {
                here.add(block);
            }
        }
        int read = inOrder.size();
        inOrder.addAll(others);
        inOrder.addAll(missed);
        BlockStreams streams = streams(reader());
        for (BlockRequest block : inOrder) {
            assertThat(streams.hasNext()).isTrue();
            Tuple2<BlockId, InputStream> next = streams.next();
            assertThat(next._1()).as("seed %d", seed).isEqualTo(block.id());
            assertThat(readAll(next._2())).as("seed %d", seed).isEqualTo(bytesOf(block));
        }
        assertThat(streams.hasNext()).isFalse();
        assertThatThrownBy(streams::next).isInstanceOf(NoSuchElementException.class);
        assertThat(source.isClosed()).isTrue();
        assertThat(fetches.asked).containsExactly(others, missed);
        assertThat(fetches.batches).containsExactly(true, false);
        assertThat(metrics.remoteBlocksFetched()).isEqualTo(read);
    }

    /** In pieces of all sizes, down to single bytes. */
    private byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] piece = new byte[5_000];
        while (true) {
            int length = 1 + random.nextInt(piece.length);
            int count = length == 1 ? in.read() : in.read(piece, 0, length);
            if (count < 0) {
                return all.toByteArray();
            }
            if (length == 1) {
                all.write(count);
            } else {
                all.write(piece, 0, count);
            }
        }
    }

    @Test
    void unreadRestIsReleasedWithTheNextStream() throws IOException {
        BlockRequest large = store(write(200_000), 0);
        BlockRequest next = store(write(200), 0);
        here.addAll(List.of(large, next));
        BlockStreams streams = streams(reader());
        InputStream begun = streams.next()._2();
        assertThat(begun.read()).isEqualTo(bytesOf(large)[0] & 0xFF);
        assertThat(streams.next()._2().readAllBytes()).isEqualTo(bytesOf(next));
        assertThat(begun.read()).as("a stream that was left").isEqualTo(-1);
        assertThat(streams.hasNext()).isFalse();
    }

    @Test
    void blocksAreDecodedWhereTheyAreRead() throws IOException {
        byte[] bytes = new byte[300_000];
        random.nextBytes(bytes);
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            out.write(bytes);
        }
        here.add(store(write(packed.toByteArray()), 0));
        BlockStreams streams = streams(reader(), (id, in) -> unpack(in));
        assertThat(streams.next()._2().readAllBytes()).isEqualTo(bytes);
        assertThat(streams.hasNext()).isFalse();
    }

    private static InputStream unpack(InputStream in) {
        try {
            return new GZIPInputStream(in);
        } catch (IOException e) {
            throw Unchecked.raise(e);
        }
    }

    /** Its checksum is right, so its owner wrote it like this: Spark is to have it written again. */
    @Test
    void aBlockThatCannotBeDecodedIsAFetchFailure() throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            out.write(new byte[1_000]);
        }
        byte[] broken = packed.toByteArray();
        broken[broken.length - 1]++;
        here.addAll(List.of(store(write(broken), 0), store(write(100), 0)));
        BlockReader reader = reader();
        BlockStreams streams = streams(reader, (id, in) -> unpack(in));
        InputStream begun = streams.next()._2();
        assertThatThrownBy(begun::readAllBytes).isInstanceOf(FetchFailedException.class);
        assertThatThrownBy(streams::hasNext).isInstanceOf(FetchFailedException.class);
        reader.close();
    }

    /** Without checksums only decoding detects damage; Spark repeats the map task. */
    @Test
    void damageIsAFetchFailureWithoutChecksums() throws IOException {
        BlockRequest unpacked = store(write(100_000), 1);
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            out.write(new byte[1_000]);
        }
        byte[] broken = packed.toByteArray();
        broken[0]++;
        BlockRequest undecodable = store(write(broken), 1);
        here.addAll(List.of(unpacked, undecodable));
        BlockReader reader = reader(false);
        BlockStreams streams = streams(reader, (id, in) -> id.equals(undecodable.id()) ? unpack(in) : in);
        assertThat(streams.next()._2().readAllBytes()).isEqualTo(bytesOf(unpacked));
        assertThatThrownBy(streams::hasNext)
                .isInstanceOf(FetchFailedException.class)
                .hasMessageContaining("cannot be read to its end");
        reader.close();
    }

    /** {@code RDD.pipe} reads in a thread of its own, which may go on after the task's end has closed everything. */
    @Test
    void nothingIsReadOnceTheTaskHasEnded() throws IOException {
        here.addAll(List.of(store(write(200_000), 0), store(write(100), 0)));
        BlockReader reader = reader();
        BlockStreams streams = streams(reader, (id, in) -> new BufferedInputStream(in, 100));
        InputStream begun = streams.next()._2();
        assertThat(begun.readNBytes(1_000)).hasSize(1_000);
        reader.close();
        assertThatThrownBy(begun::readAllBytes)
                .isExactlyInstanceOf(IOException.class)
                .hasMessageContaining("has ended");
        assertThatThrownBy(streams::hasNext)
                .isExactlyInstanceOf(IOException.class)
                .hasMessageContaining("has ended");
        assertThat(counters.snapshot().get(ShuffleCounter.SHM_BYTES)).isEqualTo(200_000);
    }

    /** Stored bytes are returned, even if they begin like compressed records of direct shuffles. */
    @Test
    void aMarkOfFramesIsDataLikeAnyOther() throws IOException {
        for (int length : new int[] {1_000, 100_000}) {
            byte[] bytes = new byte[length];
            for (int i = 0; i < Frames.markBytes(); i++) {
                bytes[i] = Frames.markByte(i);
            }
            here.add(store(write(bytes), 0));
        }
        BlockStreams streams = streams(reader());
        for (BlockRequest block : here) {
            assertThat(streams.next()._2().readAllBytes()).isEqualTo(bytesOf(block));
        }
        assertThat(streams.hasNext()).isFalse();
    }

    @Test
    void blocksThatWereMissedAreReadUntilTheTaskEnds() {
        here.add(write(100));
        BlockStreams streams = streams(reader());
        assertThat(streams.hasNext()).isTrue();
        assertThat(fetches.atEnd).hasSize(1);
    }
}
