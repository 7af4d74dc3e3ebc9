// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Fetching over a fabric that works, fails or lies; each block is answered once, with the right bytes. */
@Tag("contract")
@ParameterizedClass(name = "inPlace={0}")
@ValueSource(booleans = {true, false})
@Timeout(120)
@ExtendWith(LeakCheck.class)
class FetchTest {
    private static final int SHUFFLE = 4;
    private static final int PARTITIONS = 6;
    private static final String PEER = "17";
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final boolean inPlace;
    private final ShuffleCounters counters = new ShuffleCounters();
    private final FakeNetty netty = new FakeNetty();
    private final Answered answered = new Answered();
    private final List<TestOutput> outputs = new ArrayList<>();
    private final List<TransferClient> clients = new ArrayList<>();
    private final PeerLookups lookups = new PeerLookups(LONG);
    private Node owner;
    private MapOutputStore store;
    private MapOutputDirectory directory;
    private FlakyFabric fabric;
    private Pool readerPool;
    private PeerPaths paths;
    private Member member;

    FetchTest(boolean inPlace) {
        this.inPlace = inPlace;
    }

    @BeforeEach
    void open() throws Exception {
        System.out.println(getClass().getSimpleName() + " seed " + seed);
        owner = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        directory = MapOutputDirectory.create(owner.pool(), 16, UUID.randomUUID());
        store = new MapOutputStore(directory, new ShuffleCounters());
        fabric = new FlakyFabric(new ShmFabric(1, 1 << 20, inPlace));
        readerPool = TestPools.create(path, 1 << 20, 1 << 20, fabric);
        Map<String, byte[]> addresses = new HashMap<>();
        addresses.put("shm", owner.fabric().localAddress());
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, directory.location().encode());
        member = new Member(PEER, UUID.randomUUID(), addresses);
        paths = paths(LONG);
        for (int map = 0; map < 5; map++) {
            TestOutput made = TestOutput.random(owner.pool(), map, PARTITIONS, 3000, random);
            outputs.add(made);
            store.add(SHUFFLE, store.epoch(SHUFFLE), made.output());
            for (int p = 0; p < PARTITIONS; p++) {
                netty.blocks().put(id(map, p), made.expected(p, p + 1));
            }
        }
    }

    @AfterEach
    void close() throws Exception {
        clients.forEach(TransferClient::close);
        lookups.close();
        paths.close();
        fabric.close();
        readerPool.close();
        store.close();
        owner.close();
    }

    private PeerPaths paths(Duration quarantine) {
        return new PeerPaths(
                List.of(fabric),
                new BlockingReads(new ReceiveLeases(readerPool, Duration.ZERO), LONG),
                id -> id.equals(PEER) ? Optional.of(member) : Optional.empty(),
                quarantine);
    }

    /** Restarts the paths, and returns what reads over them. */
    private TaskRead read(Duration quarantine, Duration fetchTimeout) {
        paths.close();
        paths = paths(quarantine);
        TransferClient transfer = new TransferClient(netty, counters, fetchTimeout, TransferClient.Heirs.NONE);
        clients.add(transfer);
        return new TaskRead(
                store, paths, lookups, new ReceiveLeases(readerPool, Duration.ofMillis(20)), counters, transfer);
    }

    private static String id(int map, int partition) {
        return "shuffle_" + SHUFFLE + "_" + map + "_" + partition;
    }

    /** Returns blocks that have bytes, as Spark asks for no others. */
    private List<String> blocksWithBytes() {
        List<String> ids = new ArrayList<>();
        netty.blocks().forEach((id, bytes) -> {
            if (bytes.length > 0) {
                ids.add(id);
            }
        });
        return ids;
    }

    private void fetch(TaskRead read, List<String> ids) throws Exception {
        read.read(PEER, ids, answered);
        answered.await(ids.size());
        assertThat(answered.answersById())
                .allSatisfy((id, count) ->
                        assertThat(count).as("seed %d: answers of %s", seed, id).isOne());
    }

    private void assertRight(List<String> ids) {
        assertThat(ids)
                .allSatisfy(id -> assertThat(answered.block(id))
                        .as("seed %d: %s", seed, id)
                        .isEqualTo(netty.blocks().get(id)));
    }

    private long counted(ShuffleCounter counter) {
        return counters.snapshot().getOrDefault(counter, 0L);
    }

    private long bytes(List<String> ids) {
        return ids.stream().mapToLong(id -> answered.block(id).length).sum();
    }

    /** The thread of the fabric releases a block's lease after it has answered. */
    private void awaitNoLeases() {
        eventually().until(() -> readerPool.usage().leases() == 0);
    }

    private String oneWithBytes() {
        return blocksWithBytes().get(0);
    }

    @Test
    void blocksOfThePoolComeWithoutNetty() throws Exception {
        List<String> ids = blocksWithBytes();
        fetch(read(LONG, LONG), ids);
        assertThat(paths.shuffleIds()).containsExactly(SHUFFLE);
        assertRight(ids);
        assertThat(netty.fetches()).isZero();
        assertThat(counted(ShuffleCounter.SHM_BYTES)).isEqualTo(bytes(ids));
        awaitNoLeases();
    }

    @Test
    void blocksOfFilesComeOverNettyAndAreCountedAsFiles() throws Exception {
        store.addFile(new OutputKey(SHUFFLE, 99), store.epoch(SHUFFLE), PARTITIONS, 10);
        netty.blocks().put(id(99, 0), new byte[] {1, 2, 3});
        List<String> ids = List.of(id(99, 0), oneWithBytes());
        fetch(read(LONG, LONG), ids);
        assertRight(ids);
        assertThat(counted(ShuffleCounter.FILE_BYTES)).isEqualTo(3);
        assertThat(counted(ShuffleCounter.NETTY_BYTES)).isZero();
    }

    @Test
    void blocksThatTheDirectoryDoesNotKnowComeOverNetty() throws Exception {
        netty.blocks().put(id(77, 0), new byte[] {1, 2, 3, 4});
        fetch(read(LONG, LONG), List.of(id(77, 0)));
        assertRight(List.of(id(77, 0)));
        assertThat(counted(ShuffleCounter.NETTY_BYTES)).isEqualTo(4);
    }

    @Test
    void executorsThatNobodyKnowsAreServedByNetty() throws Exception {
        read(LONG, LONG).read("other", List.of(oneWithBytes()), answered);
        answered.await(1);
        assertRight(List.of(oneWithBytes()));
        assertThat(counted(ShuffleCounter.NETTY_BYTES)).isPositive();
    }

    @Test
    void overwrittenBytesAreNeverHandedOut() throws Exception {
        List<String> ids = blocksWithBytes();
        for (TestOutput made : outputs) {
            BlockRange range = made.output().range(0, PARTITIONS);
            for (MemorySlice piece : TestOutput.inMemory(made.output(), range)) {
                byte[] bytes = TestPools.bytes(piece);
                for (int i = 0; i < bytes.length; i++) {
                    bytes[i] = (byte) ~bytes[i];
                }
                piece.putBytes(0, bytes, 0, bytes.length);
            }
        }
        fetch(read(LONG, LONG), ids);
        assertRight(ids);
        assertThat(counted(ShuffleCounter.SHM_BYTES)).isZero();
        assertThat(counted(ShuffleCounter.NETTY_BYTES)).isEqualTo(bytes(ids));
        awaitNoLeases();
    }

    @Test
    void anOverwrittenIndexIsNeverBelieved() throws Exception {
        List<String> ids = blocksWithBytes();
        for (TestOutput made : outputs) {
            DirectoryEntry entry = made.output().entry();
            MemorySlice region = owner.pool().regions().get(entry.indexRegion()).memory();
            region.slice(entry.indexOffset(), MapOutputIndex.lengthBytes(PARTITIONS, entry.extents()))
                    .clear();
        }
        fetch(read(LONG, LONG), ids);
        assertRight(ids);
        assertThat(counted(ShuffleCounter.NETTY_BYTES)).isEqualTo(bytes(ids));
    }

    @Test
    void releasedRegionFallsBackToNetty() throws Exception {
        List<Lease> all = TestPools.fill(owner.pool());
        int region = owner.pool().regions().size() - 1;
        DirectoryEntry stale =
                new DirectoryEntry(88, DirectoryEntry.Place.POOL, PARTITIONS, 1, region, 640, region, 1280, 100);
        all.forEach(Lease::close);
        directory.publish(SHUFFLE, stale);
        assertThat(owner.pool().giveBackIdle(Duration.ZERO)).isPositive();
        netty.blocks().put(id(88, 0), new byte[] {1, 2, 3, 4});
        List<String> ids = blocksWithBytes();
        fetch(read(LONG, LONG), ids);
        assertRight(ids);
        assertThat(counted(ShuffleCounter.NETTY_BYTES)).isEqualTo(4);
        assertThat(paths.to(PEER)).as("nothing is wrong with the peer").isNotNull();
        awaitNoLeases();
    }

    @Test
    void aPeerThatFailsIsServedByNettyForAWhile() throws Exception {
        TaskRead read = read(LONG, LONG);
        fabric.failing = true;
        List<String> ids = blocksWithBytes();
        fetch(read, ids.subList(0, 3));
        assertThat(fabric.failures()).as("a silent peer is waited for once").isOne();
        assertThat(paths.to(PEER)).as("in quarantine").isNull();
        fabric.failing = false;
        fetch(read, ids.subList(3, 6).stream().toList(), 6);
        assertRight(ids.subList(0, 6));
        assertThat(counted(ShuffleCounter.SHM_BYTES)).isZero();
        assertThat(fabric.connections()).isOne();
        awaitNoLeases();
    }

    private void fetch(TaskRead read, List<String> ids, int total) throws Exception {
        read.read(PEER, ids, answered);
        answered.await(total);
    }

    @Test
    void thePathIsTriedAgainAfterTheQuarantine() throws Exception {
        TaskRead read = read(Duration.ZERO, LONG);
        List<String> ids = blocksWithBytes();
        fabric.failing = true;
        fetch(read, ids.subList(0, 1));
        fabric.failing = false;
        fetch(read, ids.subList(1, 4), 4);
        assertRight(ids.subList(0, 4));
        assertThat(counted(ShuffleCounter.SHM_BYTES)).isEqualTo(bytes(ids.subList(1, 4)));
        assertThat(fabric.connections()).isEqualTo(2);
    }

    /** Staging failures concern these bytes only; connections may succeed later. */
    @Test
    void localFailuresDoNotBlameThePeer() throws Exception {
        TaskRead read = read(LONG, LONG);
        List<String> ids = blocksWithBytes();
        int fetched = 0;
        for (Reason reason : List.of(Reason.NO_ROOM, Reason.UNREADABLE, Reason.NOT_CONNECTED)) {
            fabric.reason = reason;
            fabric.failing = true;
            fetched += 3;
            fetch(read, ids.subList(fetched - 3, fetched), fetched);
            assertThat(paths.to(PEER)).as("after %s", reason).isNotNull();
            assertThat(counted(ShuffleCounter.SHM_BYTES)).isZero();
        }
        fabric.failing = false;
        fetch(read, ids.subList(fetched, fetched + 1), fetched + 1);
        assertRight(ids.subList(0, fetched + 1));
        assertThat(counted(ShuffleCounter.SHM_BYTES)).isPositive();
        awaitNoLeases();
    }

    @Test
    void aFullPoolOfTheReaderIsNoFailure() throws Exception {
        TaskRead read = read(LONG, LONG);
        String known = oneWithBytes();
        fetch(read, List.of(known));
        List<Lease> all = TestPools.fill(readerPool);
        List<String> ids = blocksWithBytes().subList(1, 6);
        fetch(read, ids, 6);
        assertRight(ids);
        assertThat(netty.fetches() > 0).isEqualTo(!inPlace);
        all.forEach(Lease::close);
        assertThat(paths.to(PEER)).as("the peer is not to blame").isNotNull();
    }

    @Test
    void theDeadlineAnswersWhatNobodyElseDoes() throws Exception {
        TaskRead read = read(LONG, Duration.ofSeconds(2));
        netty.silent = true;
        store.addFile(new OutputKey(SHUFFLE, 99), store.epoch(SHUFFLE), PARTITIONS, 10);
        fetch(read, List.of(id(99, 0), id(99, 1), oneWithBytes()));
        assertThat(answered.failure(id(99, 0))).hasMessageContaining("spark.shuffle.rdma.fetch.timeout");
        assertRight(List.of(oneWithBytes()));
        netty.answerLate();
        assertThat(answered.answersById())
                .hasSize(3)
                .allSatisfy((id, count) -> assertThat(count).isOne());
    }

    @Test
    void replacedExecutorLeavesNoPeer() throws Exception {
        read(LONG, LONG);
        PeerPaths[] racing = new PeerPaths[1];
        racing[0] = new PeerPaths(
                List.of(fabric),
                new BlockingReads(new ReceiveLeases(readerPool, Duration.ZERO), LONG),
                id -> {
                    racing[0].changed(member, member);
                    return Optional.of(member);
                },
                LONG);
        PeerPath path = racing[0].to(PEER);
        if (path != null) {
            assertThat(path.directory().find(SHUFFLE, 0)).isNotNull();
        }
        racing[0].close();
        // The leak check detects the mapping of an unclosed peer.
    }
}
