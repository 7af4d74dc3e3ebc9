// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.PrefetchedRows;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.shuffle.read.BlockLocation.Elsewhere;
import io.rdmashuffle.store.Demotion;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import io.rdmashuffle.store.TestStores;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import org.apache.spark.SparkConf;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple3;

/** What readers of a peer see while its map outputs move to disk and the memory that they leave is used again. */
@Tag("unit")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class DemotedBlocksTest {
    private static final String PEER = "17";
    private static final BlockManagerId OWNER = BlockManagerId.apply(PEER, "localhost", 7337, scala.Option.empty());
    private static final int PARTITIONS = 5;
    private static final int LARGEST_BYTES = 9_000;
    /** Smaller than most blocks, which are then read in pieces. */
    private static final int TARGET_BYTES = 700;

    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration GRACE = Duration.ofSeconds(40);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @TempDir
    Path local;

    private final long seed = System.nanoTime();
    private final AtomicLong clock = new AtomicLong();
    private final ShuffleCounters counters = new ShuffleCounters();
    private final Map<Integer, byte[][]> live = new ConcurrentHashMap<>();
    private DiskTier disk;
    private TieredPool tiers;
    private Node owner;
    private MapOutputStore store;
    private ShmFabric fabric;
    private Pool readerPool;
    private PeerPaths paths;

    @BeforeEach
    void open() throws Exception {
        System.out.println("DemotedBlocksTest seed " + seed);
        disk = TestPools.diskTierOf(3, local);
        owner = new Node(directory, new ShmFabric(1, 1 << 20, true, disk));
        tiers = new TieredPool(owner.pool(), disk);
        MapOutputDirectory outputs = MapOutputDirectory.create(owner.pool(), 64, UUID.randomUUID());
        store = TestStores.create(outputs, counters, clock::get);
        fabric = new ShmFabric(1, 1 << 20, true);
        readerPool = TestPools.create(directory, 1 << 20, 1 << 20, fabric);
        Map<String, byte[]> addresses = new HashMap<>();
        addresses.put("shm", owner.fabric().localAddress());
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, outputs.location().encode());
        Member member = new Member(PEER, UUID.randomUUID(), addresses);
        paths = new PeerPaths(
                List.of(fabric),
                new BlockingReads(new ReceiveLeases(readerPool, Duration.ZERO), LONG),
                id -> Optional.of(member),
                LONG);
    }

    @AfterEach
    void close() {
        paths.close();
        fabric.close();
        readerPool.close();
        store.close();
        owner.close();
        disk.close();
    }

    private Demotion demotion(int highPercent) {
        return new Demotion(tiers, store, counters, highPercent, GRACE);
    }

    private void pass(Duration time) {
        clock.addAndGet(time.toNanos());
    }

    /** Writes a shuffle of one map output, whose id is that of the shuffle. */
    private void write(int shuffleId, byte[][] content) throws IOException, InterruptedException {
        store.add(shuffleId, store.epoch(shuffleId), TestStores.write(tiers, shuffleId, content));
        live.put(shuffleId, content);
    }

    private void remove(int shuffleId) {
        live.remove(shuffleId);
        store.removeShuffle(shuffleId);
        paths.forgetShuffle(shuffleId);
    }

    /** Returns partitions of which some percent of the pool are made, so that they are demoted. */
    private static byte[][] large(Random random) {
        byte[][] content = new byte[PARTITIONS][LARGEST_BYTES];
        for (byte[] partition : content) {
            random.nextBytes(partition);
        }
        return content;
    }

    /** Demotes a shuffle and has memory used again that it left. */
    private void demoteAndReuse(int shuffleId, Random random) throws Exception {
        demote(random);
        assertThat(live).containsKey(shuffleId);
        reuse();
    }

    private void demote(Random random) throws Exception {
        pass(Duration.ofSeconds(11));
        write(900, TestStores.partitions(1, 100, random));
        long before = demoted();
        demotion(1).run();
        assertThat(demoted()).as("map outputs on disk").isGreaterThan(before);
    }

    private void reuse() throws Exception {
        pass(GRACE);
        demotion(1).run();
        TestPools.fill(owner.pool()).forEach(lease -> {
            lease.memory().clear();
            lease.close();
        });
    }

    private PeerPath path() {
        return Objects.requireNonNull(paths.to(PEER));
    }

    private static BlockRequest want(int shuffleId, int partition) {
        return new BlockRequest(OWNER, new Tuple3<>(new ShuffleBlockId(shuffleId, shuffleId, partition), 1L, 0));
    }

    private BlockReader reader(List<BlockRequest> wanted) {
        Map<BlockManagerId, BlockSource> sources = new HashMap<>();
        sources.put(OWNER, new MappedBlocks(paths, path()));
        return new BlockReader(
                wanted,
                sources,
                () -> {},
                new ReadTally(new TempShuffleReadMetrics(), new ShuffleCounters(), false, true),
                true,
                Frames.of(new SparkConf(false)));
    }

    private static byte[] read(BlockReader reader, int atLeast) throws IOException {
        byte[] read = new byte[0];
        byte[] target = new byte[TARGET_BYTES];
        while (read.length < atLeast) {
            int count = reader.read(target, 0, target.length);
            if (count < 0) {
                break;
            }
            int before = read.length;
            read = Arrays.copyOf(read, before + count);
            System.arraycopy(target, 0, read, before, count);
        }
        return read;
    }

    private static byte[] join(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    @Test
    void aBlockIsReadOnOnDiskAfterItHasMoved() throws Exception {
        Random random = new Random(seed);
        byte[][] content = {new byte[20_000], new byte[300], new byte[5_000]};
        for (byte[] partition : content) {
            random.nextBytes(partition);
        }
        write(1, content);
        List<BlockRequest> wanted = List.of(want(1, 0), want(1, 1), want(1, 2));
        try (BlockReader reader = reader(wanted)) {
            byte[] head = read(reader, 3_000);
            demoteAndReuse(1, random);
            byte[] tail = read(reader, Integer.MAX_VALUE);
            assertThat(join(head, tail)).isEqualTo(join(content));
            assertThat(reader.takeMissed()).isEmpty();
        }
    }

    /** As a block of rows that is larger than the buffer of {@link BlockStreams}. */
    @Test
    void aStreamIsReadOnOnDiskAfterItsBlockHasMoved() throws Exception {
        Random random = new Random(seed);
        byte[][] content = large(random);
        write(1, content);
        try (BlockReader reader = reader(List.of(want(1, 2)))) {
            InputStream stream =
                    Objects.requireNonNull(reader.begin(new byte[TARGET_BYTES])).bytes();
            byte[] head = stream.readNBytes(3_000);
            demoteAndReuse(1, random);
            assertThat(join(head, stream.readAllBytes())).isEqualTo(content[2]);
            assertThat(reader.takeMissed()).isEmpty();
        }
    }

    /** An executor that stops leaves its directory as it is, and so what that leads to. */
    @Test
    void aBlockOnDiskIsReadOnWhenItsOwnerStops() throws Exception {
        Random random = new Random(seed);
        byte[][] content = {new byte[20_000], new byte[300]};
        for (byte[] partition : content) {
            random.nextBytes(partition);
        }
        write(1, content);
        demoteAndReuse(1, random);
        try (BlockReader reader = reader(List.of(want(1, 0), want(1, 1)));
                Lease stillServed = TestPools.filledOnDisk(tiers, new byte[] {7})) {
            byte[] head = read(reader, 3_000);
            tiers.retire();
            store.close();
            assertThat(join(head, read(reader, Integer.MAX_VALUE))).isEqualTo(join(content));
            assertThat(reader.takeMissed()).isEmpty();
            assertThat(TestPools.bytes(stillServed.bytes())).startsWith(7);
        }
    }

    /** A late task, whose cached location is memory that others use now. */
    @Test
    void aReaderThatLookedUpBeforeLooksAgain() throws Exception {
        Random random = new Random(seed);
        byte[][] content = large(random);
        write(1, content);
        assertThat(path().directory().find(1, 1)).isNotNull();
        demoteAndReuse(1, random);
        try (BlockReader reader = reader(List.of(want(1, 0), want(1, 4)))) {
            assertThat(read(reader, Integer.MAX_VALUE)).isEqualTo(join(content[0], content[4]));
            assertThat(reader.takeMissed()).isEmpty();
        }
    }

    /** As a task that is interrupted between lookup and read. */
    @Test
    void readsMovedBlocksAtTheirNewLocation() throws Exception {
        Random random = new Random(seed);
        byte[][] content = large(random);
        write(1, content);
        try (MappedBlocks source = new MappedBlocks(paths, path())) {
            BlockRequest request = want(1, 3);
            request.locate(source.locate(request.id()));
            demoteAndReuse(1, random);
            path().directory().outdated(1);
            assertThat(bytesOnDisk(source, request, content[3])).isEqualTo(content[3].length);
        }
    }

    /** As a task whose window is full while outputs of the batches that it has planned move. */
    @Test
    void aPlannedBatchIsReadFromWhereItsOutputsHaveMoved() throws Exception {
        Random random = new Random(seed);
        byte[][] content = large(random);
        write(1, content);
        List<BlockRequest> requests = List.of(want(1, 0), want(1, 1), want(1, 4));
        try (FetchWindow window = window();
                CopiedBlocks source = new CopiedBlocks(paths, path(), window, Long.MAX_VALUE)) {
            List<FetchBatch> batches = source.plan(requests, new PrefetchedRows());
            assertThat(batches).singleElement().returns(0L, FetchBatch::bytesOnDisk);
            demoteAndReuse(1, random);
            path().directory().outdated(1);
            awaitLookup(batches.get(0), true);
            assertThat(batches.get(0).bytesOnDisk()).isEqualTo(3L * LARGEST_BYTES);
            window.addAll(batches);
            for (BlockRequest request : requests) {
                assertThat(bytesOnDisk(source, request, content[request.id().reduceId()]))
                        .as("copied bytes are in memory")
                        .isZero();
            }
        }
    }

    @Test
    void aPlannedBatchOfRemovedOutputsIsNotRead() throws Exception {
        Random random = new Random(seed);
        write(1, large(random));
        try (FetchWindow window = window();
                CopiedBlocks source = new CopiedBlocks(paths, path(), window, Long.MAX_VALUE)) {
            BlockRequest request = want(1, 2);
            List<FetchBatch> batches = source.plan(List.of(request), new PrefetchedRows());
            store.removeShuffle(1);
            path().directory().outdated(1);
            awaitLookup(batches.get(0), false);
            window.addAll(batches);
            assertThat(source.find(request)).isNull();
        }
    }

    private FetchWindow window() {
        return new FetchWindow(
                paths, new ReceiveLeases(readerPool, Duration.ZERO), LONG, 1 << 20, counters, millis -> {});
    }

    /** A lookup is trusted for a while; waits until the batch was looked up again, with that result. */
    private static void awaitLookup(FetchBatch batch, boolean readable) {
        eventually().until(() -> batch.refresh() == readable && (!readable || batch.bytesOnDisk() > 0));
    }

    /** As a task that looks all of its map outputs up, and reads the last of them a while later. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void prefetchedBlockIsReadUntilItsMemoryIsFreed(boolean own) throws Exception {
        Random random = new Random(seed);
        byte[][] content = large(random);
        write(1, content);
        LocalBlocks local = new LocalBlocks(store);
        MappedBlocks mapped = new MappedBlocks(paths, path());
        Function<ShuffleBlockId, BlockLocation> locate = own ? local::locate : mapped::locate;
        try (BlockSource source = own ? local : mapped) {
            assertThat(locate.apply(want(2, 0).id())).isEqualTo(Elsewhere.UNKNOWN);
            BlockLocation location = locate.apply(want(1, 0).id());
            assertThat(location).isNotInstanceOf(Elsewhere.class);
            demote(random);
            path().directory().outdated(1);
            assertThat(bytesOnDisk(source, at(location, 0), content[0]))
                    .as("not looked up again")
                    .isZero();
            reuse();
            assertThat(bytesOnDisk(source, at(location, 0), content[0])).isEqualTo(content[0].length);
            assertThat(bytesOnDisk(source, at(location, 3), content[3])).isEqualTo(content[3].length);
            remove(1);
            assertThat(source.find(at(location, 4))).isNull();
        }
    }

    private static BlockRequest at(BlockLocation location, int partition) {
        BlockRequest request = want(1, partition);
        request.locate(location);
        return request;
    }

    /** Reads a block that has that content, and returns how much of it is on disk. */
    private static long bytesOnDisk(BlockSource source, BlockRequest wanted, byte[] content) throws IOException {
        try (Block found = Objects.requireNonNull(source.find(wanted))) {
            byte[] read = new byte[content.length];
            found.bytes().copyTo(read, 0);
            assertThat(read).isEqualTo(content);
            assertThat(found.check(true)).isEqualTo(Block.Outcome.GOOD);
            return found.bytes().bytesOnDisk();
        }
    }

    /** Readers, a writer, removals and demotion at once: a block that comes is right, and only removed ones fail. */
    @Test
    void readsAreCorrectDuringDemotion() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        LongAdder blocksRead = new LongAdder();
        List<CompletableFuture<Void>> others = new ArrayList<>();
        Executor threads = task -> new Thread(task).start(); // the common pool may have only two
        for (int i = 0; i < 2; i++) {
            Random random = new Random(seed + i);
            others.add(CompletableFuture.runAsync(() -> readUntil(done, random, blocksRead), threads));
        }
        others.add(CompletableFuture.runAsync(() -> demoteUntil(done), threads));
        Random random = new Random(seed + 9);
        try {
            // On a busy machine the other threads may not have had their turn by then.
            for (int shuffleId = 1; shuffleId <= 1500 || demoted() == 0 || blocksRead.sum() == 0; shuffleId++) {
                write(shuffleId, TestStores.partitions(PARTITIONS, LARGEST_BYTES, random));
                if (shuffleId > 30) {
                    remove(shuffleId - 30);
                }
            }
        } finally {
            done.set(true);
        }
        for (CompletableFuture<Void> other : others) {
            other.get(30, TimeUnit.SECONDS);
        }
        List.copyOf(live.keySet()).forEach(this::remove);
        assertThat(disk.usage().leases()).isZero();
    }

    private long demoted() {
        return counters.snapshot().getOrDefault(ShuffleCounter.MAP_OUTPUTS_DEMOTED, 0L);
    }

    private void demoteUntil(AtomicBoolean done) {
        Demotion demotion = demotion(30);
        while (!done.get()) {
            pass(Duration.ofSeconds(5));
            demotion.run();
        }
    }

    private void readUntil(AtomicBoolean done, Random random, LongAdder blocksRead) {
        while (!done.get()) {
            List<Integer> ids = List.copyOf(live.keySet());
            if (ids.isEmpty()) {
                continue;
            }
            int shuffleId = ids.get(random.nextInt(ids.size()));
            int partition = random.nextInt(PARTITIONS);
            byte[][] content = live.get(shuffleId);
            try (BlockReader reader = reader(List.of(want(shuffleId, partition)))) {
                byte[] read = read(reader, Integer.MAX_VALUE);
                // Missed blocks are fetched by other means, as if memory were freed between lookup and check.
                if (content != null && read.length > 0) {
                    assertThat(read).as("seed %d: shuffle %d", seed, shuffleId).isEqualTo(content[partition]);
                    blocksRead.increment();
                }
            } catch (Exception e) {
                assertThat(live.containsKey(shuffleId))
                        .as("seed %d: shuffle %d: %s", seed, shuffleId, e)
                        .isFalse();
            }
        }
    }
}
