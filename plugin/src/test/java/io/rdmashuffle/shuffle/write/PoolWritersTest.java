// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.rdmashuffle.conf.DiskCompression;
import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.OutputRefusedException;
import io.rdmashuffle.store.PoolLimits;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.ShufflePartitionWriter;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleExecutorComponents;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Writers of map outputs against a model, with the pool running full at every point where it can. */
@Tag("unit")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class PoolWritersTest {
    private static final int SHUFFLE = 3;
    private static final long CHUNK = 1024;
    private static final long GRANULE = 64;
    private static final long CAP = 64 << 10;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final ShuffleCounters counters = new ShuffleCounters();
    private Pool pool;
    private Pool directoryPool;
    private MapOutputStore store;

    @BeforeEach
    void open() throws Exception {
        System.out.println("PoolWritersTest seed " + seed);
        pool = TestPools.create(directory, CAP, CAP);
        directoryPool = TestPools.create(directory, 1 << 20, 1 << 20);
        store = new MapOutputStore(MapOutputDirectory.create(directoryPool, 16, UUID.randomUUID()), counters);
    }

    @AfterEach
    void close() {
        store.close();
        pool.close();
        directoryPool.close();
    }

    private ChunkedOutput output() {
        return new ChunkedOutput(TieredPool.of(pool), CHUNK, 0, false);
    }

    /**
     * A compressed output in a nearly full pool must not reserve the size of its uncompressed records.
     */
    @Test
    void onlyABareOutputAsksForAllItsRoomAtOnce() throws Exception {
        PoolExecutorComponents components = new PoolExecutorComponents(
                TieredPool.of(pool),
                store,
                CHUNK,
                new PoolLimits(CAP, CAP, 0),
                new CompressionChoice(DiskCompression.AUTO, true),
                new LocalDiskShuffleExecutorComponents(new SparkConf(false)));
        for (Destination destination : List.of(Destination.POOL_BARE, Destination.POOL_COMPRESSED)) {
            ShuffleMapOutputWriter writer = components.createOutputWriter(
                    new OutputKey(SHUFFLE, 1), store.epoch(SHUFFLE), 1, destination, CAP / 2);
            try (OutputStream out = writer.getPartitionWriter(0).openStream()) {
                out.write(new byte[100]);
            }
            assertThat(pool.usage().usedBytes())
                    .as("%s", destination)
                    .isEqualTo(destination == Destination.POOL_BARE ? CAP / 2 : CHUNK);
            writer.abort(new IOException("enough seen"));
            assertThat(pool.usage().usedBytes()).isZero();
        }
    }

    private byte[][] content(int partitions, int maxBytes) {
        byte[][] content = new byte[partitions][];
        for (int p = 0; p < partitions; p++) {
            content[p] = new byte[random.nextInt(3) == 0 ? 0 : random.nextInt(maxBytes)];
            random.nextBytes(content[p]);
        }
        return content;
    }

    private void writeFromAnywhere(PoolMapOutputWriter writer, int partition, byte[] content) throws IOException {
        try (PoolMapOutputWriter.PartitionStream out = writer.openPartition(partition)) {
            for (int done = 0; done < content.length; ) {
                int piece = Math.min(content.length - done, 1 + random.nextInt(2000));
                out.writeFrom(content, Platform.BYTE_ARRAY_OFFSET + (long) done, piece);
                done += piece;
            }
        }
    }

    private void write(PoolMapOutputWriter writer, byte[][] content) throws IOException {
        for (int p = 0; p < content.length; p++) {
            if (random.nextInt(3) == 0) {
                writeFromAnywhere(writer, p, content[p]);
                continue;
            }
            ShufflePartitionWriter partition = writer.getPartitionWriter(p);
            // Spark's bypass writer does not open the streams of empty partitions.
            if (content[p].length == 0 && random.nextBoolean()) {
                continue;
            }
            try (OutputStream out = partition.openStream()) {
                for (int done = 0; done < content[p].length; ) {
                    int piece = Math.min(content[p].length - done, 1 + random.nextInt(200));
                    if (piece == 1) {
                        out.write(content[p][done]);
                    } else {
                        out.write(content[p], done, piece);
                    }
                    done += piece;
                }
            }
            assertThat(partition.getNumBytesWritten()).isEqualTo(content[p].length);
        }
    }

    private void assertPooled(long mapId, byte[][] content) throws IOException {
        MapOutput output = store.acquire(SHUFFLE, mapId);
        if (output == null) {
            throw new AssertionError("map " + mapId + " is not in the store");
        }
        try {
            for (int p = 0; p < content.length; p++) {
                BlockRange range = output.range(p, p + 1);
                assertThat(TestOutput.join(output.bytes(range)))
                        .as("seed %d partition %d", seed, p)
                        .isEqualTo(content[p]);
                assertThat(range.matches(output.bytes(range))).isTrue();
            }
        } finally {
            output.release();
        }
    }

    /** Writes one output into what room there is; returns whether it went to the pool. */
    private boolean writeAnywhere(long mapId, byte[][] content) throws IOException {
        FakeFiles files = new FakeFiles(content.length);
        PoolMapOutputWriter writer = new PoolMapOutputWriter(
                new OutputKey(SHUFFLE, mapId), store.epoch(SHUFFLE), content.length, store, output(), () -> files);
        write(writer, content);
        long[] lengths = writer.commitAllPartitions(new long[0]).getPartitionLengths();
        long[] expected = Stream.of(content).mapToLong(part -> part.length).toArray();
        assertThat(lengths).as("seed %d", seed).isEqualTo(expected);
        if (files.isCommitted()) {
            for (int p = 0; p < content.length; p++) {
                assertThat(files.partition(p))
                        .as("seed %d partition %d", seed, p)
                        .isEqualTo(content[p]);
            }
            return false;
        }
        assertPooled(mapId, content);
        return true;
    }

    @Test
    void outputsAreTheSameWhereverThePoolRunsFull() throws Exception {
        byte[][] content = content(12, 700);
        content[0] = new byte[700]; // so that it takes room
        int pooled = 0;
        long needed = 0;
        for (byte[] part : content) {
            needed += part.length;
        }
        long steps = needed / GRANULE + 12;
        for (long free = 0; free < steps; free++) {
            Lease occupied = TestPools.reserve(pool, Purpose.RECEIVE, CAP - free * GRANULE);
            pooled += writeAnywhere(free, content) ? 1 : 0;
            store.removeShuffle(SHUFFLE);
            reopenStore();
            occupied.close();
            assertThat(pool.usage().usedBytes())
                    .as("seed %d, %d granules free", seed, free)
                    .isZero();
        }
        assertThat(pooled).isPositive().isLessThan((int) steps);
        assertThat(counters.snapshot())
                .containsEntry(ShuffleCounter.MAP_OUTPUTS_POOLED, (long) pooled)
                .containsEntry(ShuffleCounter.MAP_OUTPUTS_FILED, steps - pooled);
    }

    /** A store refuses a shuffle that it has removed, so each round gets a new one. */
    private void reopenStore() throws InterruptedException {
        store.close();
        store = new MapOutputStore(MapOutputDirectory.create(directoryPool, 16, UUID.randomUUID()), counters);
    }

    @Test
    void outputsInManyPiecesAreTheSame() throws Exception {
        for (int round = 0; round < 60; round++) {
            List<Lease> pieces = new ArrayList<>();
            for (long i = 0; i < CAP / GRANULE; i++) {
                pieces.add(TestPools.reserve(pool, Purpose.RECEIVE, GRANULE));
            }
            Collections.shuffle(pieces, random);
            int freed = random.nextInt(pieces.size());
            for (int i = 0; i < freed; i++) {
                pieces.remove(pieces.size() - 1).close();
            }
            writeAnywhere(round, content(1 + random.nextInt(10), 2000));
            pieces.forEach(Lease::close);
            store.removeShuffle(SHUFFLE);
            reopenStore();
            assertThat(pool.usage().usedBytes())
                    .as("seed %d round %d", seed, round)
                    .isZero();
        }
    }

    @Test
    void anOutputThatThePoolRefusesIsAFileFromItsFirstByte() throws Exception {
        byte[][] content = content(5, 300);
        content[0] = new byte[] {1, 2, 3};
        FakeFiles files = new FakeFiles(content.length);
        ChunkedOutput refused = new ChunkedOutput(TieredPool.of(pool), CHUNK, 0, true);
        PoolMapOutputWriter writer = new PoolMapOutputWriter(
                new OutputKey(SHUFFLE, 1), store.epoch(SHUFFLE), content.length, store, refused, () -> files);
        write(writer, content);
        writer.commitAllPartitions(new long[0]);
        assertThat(files.isCommitted()).isTrue();
        for (int p = 0; p < content.length; p++) {
            assertThat(files.partition(p)).as("seed %d", seed).isEqualTo(content[p]);
        }
        assertThat(pool.usage().peakBytes()).isZero();
    }

    /** A record may be as large as an array can be, and the heap as full as the pool. */
    @Test
    void aLargeRecordThatIsRefusedTakesLittleHeap() throws Exception {
        byte[] record = new byte[32 << 20];
        ChunkedOutput refused = new ChunkedOutput(TieredPool.of(pool), CHUNK, 0, true);
        PoolMapOutputWriter writer =
                new PoolMapOutputWriter(new OutputKey(SHUFFLE, 1), store.epoch(SHUFFLE), 1, store, refused, () -> {
                    throw new OutputRefusedException("no room");
                });
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (PoolMapOutputWriter.PartitionStream out = writer.openPartition(0)) {
            long before = threads.getCurrentThreadAllocatedBytes();
            assertThatThrownBy(() -> out.writeFrom(record, Platform.BYTE_ARRAY_OFFSET, record.length))
                    .isInstanceOf(OutputRefusedException.class);
            assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(record.length / 4);
        }
        writer.abort(new IOException("enough seen"));
    }

    /** A codec flushes once more when it is closed after its output has failed. */
    @Test
    void opensItsFileOnceWhereWritesFail() throws Exception {
        IOException full = new IOException("No space left on device");
        AtomicInteger opened = new AtomicInteger();
        ShuffleMapOutputWriter broken = new FakeFiles(1) {
            @Override
            public ShufflePartitionWriter getPartitionWriter(int partition) {
                throw Unchecked.raise(full);
            }
        };
        PoolMapOutputWriter writer =
                new PoolMapOutputWriter(new OutputKey(SHUFFLE, 1), store.epoch(SHUFFLE), 1, store, output(), () -> {
                    opened.incrementAndGet();
                    return broken;
                });
        byte[] tooMuch = new byte[(int) CAP + 1];
        OutputStream out = writer.getPartitionWriter(0).openStream();
        assertThatThrownBy(() -> out.write(tooMuch)).isSameAs(full);
        assertThatThrownBy(() -> out.write(tooMuch)).hasMessageContaining("an earlier write has failed");
        out.close();
        assertThat(opened).hasValue(1);
        writer.abort(full);
        assertThat(pool.usage().usedBytes()).isZero();
    }

    @Test
    void abortGivesEverythingBack() throws Exception {
        PoolMapOutputWriter inPool = new PoolMapOutputWriter(
                new OutputKey(SHUFFLE, 1), store.epoch(SHUFFLE), 2, store, output(), () -> new FakeFiles(2));
        OutputStream out = inPool.getPartitionWriter(0).openStream();
        out.write(new byte[5000]);
        inPool.abort(new IOException("task failed"));
        assertThat(pool.usage().usedBytes()).isZero();

        Lease occupied = TestPools.reserve(pool, Purpose.RECEIVE, CAP - GRANULE);
        FakeFiles files = new FakeFiles(2);
        PoolMapOutputWriter inFile = new PoolMapOutputWriter(
                new OutputKey(SHUFFLE, 2), store.epoch(SHUFFLE), 2, store, output(), () -> files);
        inFile.getPartitionWriter(0).openStream().write(new byte[5000]);
        inFile.abort(new IOException("task failed"));
        assertThat(files.isAborted()).isTrue();
        occupied.close();
        assertThat(pool.usage().usedBytes()).isZero();
    }

    @Test
    void partitionsComeInOrderAndClosedStreamsTakeNothing() throws Exception {
        PoolMapOutputWriter writer = new PoolMapOutputWriter(
                new OutputKey(SHUFFLE, 1), store.epoch(SHUFFLE), 3, store, output(), () -> new FakeFiles(3));
        OutputStream out = writer.getPartitionWriter(1).openStream();
        out.close();
        assertThatThrownBy(() -> out.write(1)).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> writer.getPartitionWriter(1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> writer.getPartitionWriter(3)).isInstanceOf(IllegalArgumentException.class);
        writer.abort(new IOException("enough"));
    }

    @Test
    void spillFilesAreTheSameWhereverThePoolRunsFull() throws Exception {
        byte[][] content = content(9, 600);
        content[0] = new byte[600]; // so that it takes room
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : content) {
            all.writeBytes(part);
        }
        long[] lengths = Stream.of(content).mapToLong(part -> part.length).toArray();
        long steps = all.size() / GRANULE + 12;
        int pooled = 0;
        for (long free = 0; free < steps; free++) {
            Path spill = Files.write(directory.resolve("spill"), all.toByteArray());
            Lease occupied = TestPools.reserve(pool, Purpose.RECEIVE, CAP - free * GRANULE);
            FakeFiles files = new FakeFiles(content.length);
            new PoolSingleSpillWriter(new OutputKey(SHUFFLE, free), store, partitions -> output(), () -> files)
                    .transferMapSpillFile(spill.toFile(), lengths, new long[0]);
            if (files.isCommitted()) {
                assertThat(files.spill()).isEqualTo(all.toByteArray());
            } else {
                pooled++;
                assertPooled(free, content);
                assertThat(spill).doesNotExist();
            }
            store.removeShuffle(SHUFFLE);
            reopenStore();
            occupied.close();
            assertThat(pool.usage().usedBytes()).as("seed %d", seed).isZero();
        }
        assertThat(pooled).isPositive().isLessThan((int) steps);
    }

    @Test
    void aSpillFileThatIsTooShortFailsAndLeavesNothing() throws Exception {
        Path spill = Files.write(directory.resolve("spill"), new byte[100]);
        PoolSingleSpillWriter writer = new PoolSingleSpillWriter(
                new OutputKey(SHUFFLE, 1), store, partitions -> output(), () -> new FakeFiles(1));
        assertThatThrownBy(() -> writer.transferMapSpillFile(spill.toFile(), new long[] {200}, new long[0]))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("100 of 200");
        assertThat(pool.usage().usedBytes()).isZero();
    }
}
