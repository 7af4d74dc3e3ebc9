// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.PoolLimits;
import io.rdmashuffle.store.ShuffleCounters;
import io.rdmashuffle.store.TestStores;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.storage.BlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;

/** An executor that is left and one that takes over, without Spark between them. */
@Timeout(120)
@ExtendWith(LeakCheck.class)
abstract class MigrationTestBed {
    static final int SHUFFLE = 3;
    static final long MAP = 77;
    static final OutputKey KEY = new OutputKey(SHUFFLE, MAP);
    static final int PARTITIONS = 9;
    static final long CHUNK = 1024;
    static final long CAP = 64 << 10;
    static final Duration LONG = Duration.ofMinutes(10);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @TempDir
    Path files;

    final long seed = System.nanoTime();
    final Random random = new Random(seed);
    /** Additional time that has passed at the leaving executor. */
    long passedNanos;

    Pool oldPool;
    MapOutputStore oldHome;
    Pool pool;
    MapOutputStore store;
    IncomingOutputs incoming;
    FakeMigrationTarget target;
    long emptyBytes;

    @BeforeEach
    void open() throws Exception {
        System.out.println(getClass().getSimpleName() + " seed " + seed);
        oldPool = TestPools.create(directory, 1 << 20, 1 << 20);
        oldHome = TestStores.create(
                MapOutputDirectory.create(oldPool, 16, UUID.randomUUID()),
                new ShuffleCounters(),
                () -> System.nanoTime() + passedNanos);
        pool = TestPools.create(directory, CAP, CAP);
        store = new MapOutputStore(MapOutputDirectory.create(pool, 16, UUID.randomUUID()), new ShuffleCounters());
        incoming = incoming(LONG);
        target = new FakeMigrationTarget(files);
        emptyBytes = pool.usage().usedBytes();
    }

    @AfterEach
    void close() {
        incoming.close();
        incoming.close();
        store.close();
        assertThat(pool.usage().leases()).isZero();
        pool.close();
        oldHome.close();
        assertThat(oldPool.usage().leases()).isZero();
        oldPool.close();
    }

    IncomingOutputs incoming(Duration timeout) {
        return new IncomingOutputs(TieredPool.of(pool), CHUNK, new PoolLimits(CAP, CAP, 100), store, timeout);
    }

    /** An output at its old home, and the blocks that Spark would send of it. */
    TestOutput written(int maxPartitionBytes) throws Exception {
        byte[][] content = maxPartitionBytes < CAP / PARTITIONS
                ? TestOutput.content(PARTITIONS, maxPartitionBytes, random)
                : largerThanThePool(maxPartitionBytes);
        if (content[0].length == 0) {
            content[0] = new byte[] {7}; // all of them could be empty
        }
        TestOutput written = TestOutput.write(oldPool, MAP, content, random);
        oldHome.add(SHUFFLE, oldHome.epoch(SHUFFLE), written.output());
        return written;
    }

    private byte[][] largerThanThePool(int maxPartitionBytes) {
        byte[][] content = new byte[PARTITIONS][];
        int least = (int) (CAP / PARTITIONS);
        for (int p = 0; p < PARTITIONS; p++) {
            content[p] = new byte[least + 1 + random.nextInt(maxPartitionBytes - least)];
            random.nextBytes(content[p]);
        }
        return content;
    }

    List<Tuple2<BlockId, ManagedBuffer>> blocks() throws IOException {
        return Objects.requireNonNull(new OutgoingOutputs(oldHome).blocks(KEY), "not in the pool");
    }

    void send(Tuple2<BlockId, ManagedBuffer> block) throws IOException {
        send(block._1(), bytes(block._2()));
    }

    void send(BlockId id, byte[] bytes) throws IOException {
        StreamCallbackWithID stream = incoming.receive(id, target);
        feed(stream, bytes, bytes.length);
        complete(stream);
    }

    /** As Spark's transport does. */
    static void complete(StreamCallbackWithID stream) throws IOException {
        try {
            stream.onComplete(stream.getID());
        } catch (IOException e) {
            stream.onFailure(stream.getID(), e);
            throw e;
        }
    }

    void feed(StreamCallbackWithID stream, byte[] bytes, int length) throws IOException {
        for (int done = 0; done < length; ) {
            int piece = Math.min(length - done, 1 + random.nextInt(3000));
            ByteBuffer buffer = ByteBuffer.wrap(bytes, done, piece);
            stream.onData(stream.getID(), random.nextBoolean() ? buffer : direct(buffer));
            done += piece;
        }
    }

    static ByteBuffer direct(ByteBuffer bytes) {
        return ByteBuffer.allocateDirect(bytes.remaining()).put(bytes).flip();
    }

    static byte[] bytes(ManagedBuffer buffer) throws IOException {
        ByteBuffer bytes = buffer.nioByteBuffer();
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        return copy;
    }

    byte[] dataOf(List<Tuple2<BlockId, ManagedBuffer>> blocks) throws IOException {
        return bytes(blocks.get(0)._2());
    }

    void assertPooled(TestOutput written) throws IOException {
        MapOutput here = Objects.requireNonNull(store.acquire(SHUFFLE, MAP), "not in the pool");
        try {
            for (int p = 0; p < PARTITIONS; p++) {
                BlockRange range = here.range(p, p + 1);
                assertThat(TestOutput.join(here.bytes(range)))
                        .as("seed %d partition %d", seed, p)
                        .isEqualTo(written.partitions()[p]);
                assertThat(range.matches(here.bytes(range))).isTrue();
            }
        } finally {
            here.release();
        }
    }

    void assertNothingHere() {
        assertThat(store.acquire(SHUFFLE, MAP)).isNull();
        assertThat(target.lengths(KEY)).isNull();
        assertThat(target.files()).isZero();
        assertThat(target.reported()).isEmpty();
        assertThat(pool.usage().usedBytes()).isEqualTo(emptyBytes);
    }

    void assertFiled(TestOutput written) throws IOException {
        assertThat(target.data(KEY)).isEqualTo(written.expected(0, PARTITIONS));
        long[] lengths = Objects.requireNonNull(target.lengths(KEY));
        for (int p = 0; p < PARTITIONS; p++) {
            assertThat(lengths[p]).isEqualTo(written.partitions()[p].length);
        }
        assertThat(target.files()).isOne();
        assertThat(target.reported()).containsExactly(KEY);
        assertThat(store.acquire(SHUFFLE, MAP)).isNull();
    }

    void removeShuffle() {
        store.removeShuffle(SHUFFLE);
        incoming.removeShuffle(SHUFFLE);
    }
}
