// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.shuffle.LocalApplication;
import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.spark.compat.until40.SparkUntil40;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.apache.spark.storage.ShuffleIndexBlockId;
import org.apache.spark.util.collection.OpenHashSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;
import scala.Tuple2;

/** What Spark's block manager is given of an executor, for its tasks, for peers, and when it is decommissioned. */
@Tag("unit")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class PoolBlocksTest {
    private static final int SHUFFLE = 3;
    private static final int PARTITIONS = 6;
    private static final Option<String[]> HERE = Option.empty();

    @TempDir(factory = ShmTempDirs.class)
    static Path pools;

    @TempDir
    static Path local;

    private static final AtomicLong NEXT_MAP = new AtomicLong();

    /** Its block manager knows where files lie. */
    private static LocalApplication application;

    /** Files of other tests lie beside. */
    private final long map = NEXT_MAP.addAndGet(10);

    private final Random random = new Random(5);
    private final ShuffleCounters counters = new ShuffleCounters();
    private @Nullable MapOutputStore stored;
    private boolean staysReadable;
    private @Nullable ReservedShuffle reserved;
    /** Of the last resolver. */
    private @Nullable PoolBlocks blocks;

    private Pool pool;
    private MapOutputStore store;
    private TestOutput output;

    @BeforeAll
    static void startApplication() {
        application = LocalApplication.start(pools, local, Map.of());
    }

    @AfterAll
    static void stopApplication() {
        application.close();
    }

    @BeforeEach
    void open() throws Exception {
        pool = TestPools.create(pools, 1 << 20, 1 << 20);
        store = new MapOutputStore(MapOutputDirectory.create(pool, 16, UUID.randomUUID()), counters);
        output = TestOutput.write(pool, map, partitions(), random);
        store.add(SHUFFLE, 0, output.output());
        stored = store;
    }

    @AfterEach
    void close() {
        TaskContext$.MODULE$.unset();
        store.close();
        assertThat(pool.usage().leases()).isZero();
        pool.close();
    }

    private byte[][] partitions() {
        byte[][] content = new byte[PARTITIONS][];
        for (int p = 0; p < PARTITIONS; p++) {
            content[p] = new byte[p == 2 ? 0 : 100 + random.nextInt(400)];
            random.nextBytes(content[p]);
        }
        return content;
    }

    private IndexShuffleBlockResolver resolver(boolean verify, SparkConf conf) {
        ConcurrentMap<Object, OpenHashSet<Object>> mapIds = new ConcurrentHashMap<>();
        return new SparkUntil40()
                .resolver(
                        conf,
                        mapIds,
                        files -> blocks = new PoolBlocks(
                                conf,
                                files,
                                mapIds,
                                new PoolBlocks.Parts(() -> stored, () -> null, () -> reserved, () -> null),
                                () -> staysReadable,
                                (block, bytes) -> {},
                                counters,
                                verify));
    }

    /** As Spark does from 4.0 on. */
    private void skip(int shuffleId) {
        Objects.requireNonNull(blocks).addShuffleToSkip(shuffleId);
    }

    private IndexShuffleBlockResolver resolver() {
        return resolver(true, new SparkConf(false));
    }

    private long counted(ShuffleCounter counter) {
        return counters.snapshot().getOrDefault(counter, 0L);
    }

    private static byte[] bytes(ManagedBuffer buffer) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        buffer.createInputStream().transferTo(out);
        return out.toByteArray();
    }

    private static List<ShuffleBlockInfo> outputs(IndexShuffleBlockResolver resolver) {
        return List.copyOf(ScalaCollections.list(resolver.getStoredShuffles().iterator()));
    }

    private void damage() throws IOException {
        TestOutput.inMemory(output.output(), output.output().range(1, 2)).get(0).putInt(0, 12_345);
    }

    /** Writes an output of Spark's own kind: a data file and its index. */
    private static void writeFiles(IndexShuffleBlockResolver resolver, long mapId, byte[]... partitions)
            throws IOException {
        Path data = Files.createTempFile(local, "data", "");
        long[] lengths = new long[partitions.length];
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int p = 0; p < partitions.length; p++) {
            all.write(partitions[p]);
            lengths[p] = partitions[p].length;
        }
        Files.write(data, all.toByteArray());
        resolver.writeMetadataFileAndCommit(SHUFFLE, mapId, lengths, new long[0], data.toFile());
    }

    @Test
    void eachBlockAndEachRangeOfBlocksIsServedFromThePool() throws Exception {
        IndexShuffleBlockResolver resolver = resolver();
        for (int p = 0; p < PARTITIONS; p++) {
            assertThat(bytes(resolver.getBlockData(ShuffleBlockId.apply(SHUFFLE, map, p), HERE)))
                    .isEqualTo(output.partitions()[p]);
        }
        BlockId range = ShuffleBlockBatchId.apply(SHUFFLE, map, 1, 5);
        assertThat(bytes(resolver.getBlockData(range, HERE))).isEqualTo(output.expected(1, 5));
    }

    /** Peers count their reads from this executor themselves. */
    @Test
    void countsReadsOfTasksOnly() throws Exception {
        IndexShuffleBlockResolver resolver = resolver();
        writeFiles(resolver, map + 1, new byte[10], new byte[20]);
        BlockId inPool = ShuffleBlockId.apply(SHUFFLE, map, 1);
        BlockId inFile = ShuffleBlockId.apply(SHUFFLE, map + 1, 1);
        resolver.getBlockData(inPool, HERE);
        resolver.getBlockData(inFile, HERE);
        assertThat(counted(ShuffleCounter.LOCAL_BYTES)).isZero();
        assertThat(counted(ShuffleCounter.FILE_BYTES)).isZero();
        TaskContext$.MODULE$.setTaskContext(TaskContext$.MODULE$.empty());
        assertThat(TaskContext.get()).isNotNull();
        resolver.getBlockData(inPool, HERE);
        resolver.getBlockData(inFile, HERE);
        assertThat(counted(ShuffleCounter.LOCAL_BYTES)).isEqualTo(output.partitions()[1].length);
        assertThat(counted(ShuffleCounter.FILE_BYTES)).isEqualTo(20);
    }

    @Test
    void otherBlocksComeFromSparksFiles() throws Exception {
        IndexShuffleBlockResolver resolver = resolver();
        byte[] second = {4, 5, 6};
        writeFiles(resolver, map, new byte[] {1}, second);
        BlockId block = ShuffleBlockId.apply(SHUFFLE, map, 1);
        assertThat(bytes(resolver.getBlockData(block, HERE))).as("the pool's").isEqualTo(output.partitions()[1]);
        String[] dirs = SparkEnv.get().blockManager().diskBlockManager().localDirsString();
        assertThat(bytes(resolver.getBlockData(block, Option.apply(dirs))))
                .as("of another executor's folders")
                .isEqualTo(second);
        store.removeShuffle(SHUFFLE);
        assertThat(bytes(resolver.getBlockData(block, HERE))).isEqualTo(second);
        stored = null;
        assertThat(bytes(resolver.getBlockData(block, HERE))).isEqualTo(second);
    }

    @Test
    void damagedBlockFailsWithChecksums() throws Exception {
        damage();
        BlockId block = ShuffleBlockId.apply(SHUFFLE, map, 1);
        IndexShuffleBlockResolver resolver = resolver();
        assertThatThrownBy(() -> resolver.getBlockData(block, HERE))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("overwritten");
        assertThat(counted(ShuffleCounter.CHECKSUM_FAILURES)).isEqualTo(1);
        assertThat(bytes(resolver.getBlockData(ShuffleBlockId.apply(SHUFFLE, map, 0), HERE)))
                .isEqualTo(output.partitions()[0]);
        assertThat(bytes(resolver(false, new SparkConf(false)).getBlockData(block, HERE)))
                .hasSameSizeAs(output.partitions()[1]);
    }

    /** The reference for the checksums is released, and the buffer acquires its own. */
    @Test
    void aBufferKeepsItsOutputForAsLongAsItIsRetained() throws Exception {
        ManagedBuffer buffer = resolver()
                .getBlockData(ShuffleBlockId.apply(SHUFFLE, map, 1), HERE)
                .retain();
        store.removeShuffle(SHUFFLE);
        assertThat(bytes(buffer)).isEqualTo(output.partitions()[1]);
        long held = pool.usage().usedBytes();
        buffer.release();
        assertThat(pool.usage().usedBytes()).isLessThan(held);
    }

    @Test
    void outputsOfUnfinishedQueriesAreMigrated() throws Exception {
        IndexShuffleBlockResolver resolver = resolver();
        writeFiles(resolver, map + 1, new byte[10]);
        ShuffleBlockInfo inPool = new ShuffleBlockInfo(SHUFFLE, map);
        ShuffleBlockInfo inFiles = new ShuffleBlockInfo(SHUFFLE, map + 1);
        assertThat(outputs(resolver)).contains(inPool, inFiles).doesNotHaveDuplicates();
        skip(SHUFFLE);
        assertThat(outputs(resolver)).doesNotContain(inPool);
        stored = null;
        assertThat(outputs(resolver())).contains(inFiles).doesNotContain(inPool);
    }

    @Test
    void outputsThatOthersWillServeAreNotMigrated() throws Exception {
        IndexShuffleBlockResolver resolver = resolver();
        writeFiles(resolver, map + 1, new byte[10]);
        staysReadable = true;
        assertThat(outputs(resolver))
                .contains(new ShuffleBlockInfo(SHUFFLE, map + 1))
                .doesNotContain(new ShuffleBlockInfo(SHUFFLE, map));
        staysReadable = false;
        assertThat(outputs(resolver)).contains(new ShuffleBlockInfo(SHUFFLE, map));
    }

    @Test
    void theOldestOfAThousandShufflesIsNotSkippedAnyMore() throws Exception {
        IndexShuffleBlockResolver resolver = resolver();
        ShuffleBlockInfo inPool = new ShuffleBlockInfo(SHUFFLE, map);
        skip(SHUFFLE);
        for (int other = 1; other < 1000; other++) {
            skip(SHUFFLE + other);
        }
        assertThat(outputs(resolver)).doesNotContain(inPool);
        skip(SHUFFLE + 1000);
        assertThat(outputs(resolver)).contains(inPool);
    }

    @Test
    void poolAndFileOutputsMigrate() throws Exception {
        IndexShuffleBlockResolver resolver = resolver();
        writeFiles(resolver, map + 1, new byte[] {7, 8, 9});
        List<Tuple2<BlockId, ManagedBuffer>> pooled = ScalaCollections.list(
                resolver.getMigrationBlocks(new ShuffleBlockInfo(SHUFFLE, map)).iterator());
        assertThat(pooled)
                .extracting(block -> block._1())
                .containsExactly(ShuffleDataBlockId.apply(SHUFFLE, map, 0), ShuffleIndexBlockId.apply(SHUFFLE, map, 0));
        assertThat(bytes(pooled.get(0)._2())).isEqualTo(output.expected(0, PARTITIONS));
        List<Tuple2<BlockId, ManagedBuffer>> filed =
                ScalaCollections.list(resolver.getMigrationBlocks(new ShuffleBlockInfo(SHUFFLE, map + 1))
                        .iterator());
        assertThat(filed)
                .filteredOn(block -> block._1() instanceof ShuffleDataBlockId)
                .singleElement()
                .satisfies(block -> assertThat(bytes(block._2())).containsExactly(7, 8, 9));
        stored = null;
        assertThat(ScalaCollections.list(resolver.getMigrationBlocks(new ShuffleBlockInfo(SHUFFLE, map + 1))
                        .iterator()))
                .hasSameSizeAs(filed);
    }

    @Test
    void outputBecomesFilesWithoutAPool() throws Exception {
        IndexShuffleBlockResolver resolver = resolver();
        byte[] sent = {1, 2, 3};
        StreamCallbackWithID stream = resolver.putShuffleBlockAsStream(
                ShuffleDataBlockId.apply(SHUFFLE, map + 2, 0), SparkEnv.get().serializerManager());
        stream.onData(stream.getID(), ByteBuffer.wrap(sent));
        stream.onComplete(stream.getID());
        assertThat(resolver.getDataFile(SHUFFLE, map + 2)).hasBinaryContent(sent);
    }

    @Test
    void fallbackStorageReceivesPoolOutputsAsFiles() throws Exception {
        SparkConf conf = new SparkConf(false).set("spark.storage.decommission.fallbackStorage.path", local + "/");
        IndexShuffleBlockResolver without = resolver();
        store.add(
                SHUFFLE,
                0,
                TestOutput.write(pool, map + 3, output.partitions(), random).output());
        assertThat(without.getIndexFile(SHUFFLE, map + 3, HERE)).doesNotExist();
        IndexShuffleBlockResolver resolver = resolver(true, conf);
        assertThat(resolver.getIndexFile(SHUFFLE, map + 4, HERE))
                .as("in neither")
                .doesNotExist();
        assertThat(resolver.getIndexFile(SHUFFLE, map + 3, HERE)).exists();
        assertThat(resolver.getDataFile(SHUFFLE, map + 3)).hasBinaryContent(output.expected(0, PARTITIONS));
        stored = null;
        for (int p = 0; p < PARTITIONS; p++) {
            assertThat(bytes(resolver.getBlockData(ShuffleBlockId.apply(SHUFFLE, map + 3, p), HERE)))
                    .isEqualTo(output.partitions()[p]);
        }
    }

    @Test
    void aDamagedOutputIsNotWrittenToTheFallbackStorage() throws Exception {
        SparkConf conf = new SparkConf(false).set("spark.storage.decommission.fallbackStorage.path", local + "/");
        damage();
        IndexShuffleBlockResolver resolver = resolver(true, conf);
        assertThatThrownBy(() -> resolver.getIndexFile(SHUFFLE, map, HERE))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("overwritten");
    }

    @Test
    void reservedShuffleIdReachesItsHandler() throws Exception {
        IndexShuffleBlockResolver resolver = resolver();
        BlockId asked = ShuffleBlockId.apply(ReservedShuffle.SHUFFLE_ID, 1, 2);
        BlockId sent = ShuffleDataBlockId.apply(ReservedShuffle.SHUFFLE_ID, 1, 2);
        assertThatThrownBy(() -> resolver.getBlockData(asked, HERE))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has not joined yet");
        assertThatThrownBy(() ->
                        resolver.putShuffleBlockAsStream(sent, SparkEnv.get().serializerManager()))
                .isInstanceOf(IOException.class);
        Answers answers = new Answers();
        reserved = answers;
        assertThat(bytes(resolver.getBlockData(asked, HERE))).containsExactly(42);
        assertThatThrownBy(() ->
                        resolver.putShuffleBlockAsStream(sent, SparkEnv.get().serializerManager()))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessage(sent.name());
        assertThat(ReservedShuffle.isOf(ShuffleBlockId.apply(SHUFFLE, 1, 2))).isFalse();
        assertThat(ReservedShuffle.isOf(ShuffleDataBlockId.apply(SHUFFLE, 1, 2)))
                .isFalse();
        assertThat(ReservedShuffle.isOf(ShuffleIndexBlockId.apply(ReservedShuffle.SHUFFLE_ID, 1, 2)))
                .isFalse();
    }

    /** Answers each question alike. */
    private static final class Answers implements ReservedShuffle {
        @Override
        public ManagedBuffer get(BlockId blockId) {
            return new NioManagedBuffer(ByteBuffer.wrap(new byte[] {42}));
        }

        @Override
        public StreamCallbackWithID receive(BlockId blockId) {
            throw new UnsupportedOperationException(blockId.name());
        }
    }
}
