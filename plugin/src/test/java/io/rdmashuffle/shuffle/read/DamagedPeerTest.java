// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.Crc32c;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounters;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.spark.shuffle.FetchFailedException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A reducer that fetches from a peer whose memory is damaged: each block is answered once, with the right bytes over
 * whatever path, or with a failure where that path fails too; never with wrong bytes.
 */
@Tag("unit")
@ParameterizedClass(name = "inPlace={0}")
@ValueSource(booleans = {true, false})
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(LeakCheck.class)
class DamagedPeerTest {
    private static final int SHUFFLE = 4;
    private static final int PARTITIONS = 6;
    private static final int SLOTS = 16;
    private static final int RECORD_BYTES = 64;
    /** Of an index: where a partition begins, and its checksum. */
    private static final int ROW_BYTES = 12;

    private static final String PEER = "17";
    /** A damaged record has no writer that would complete it. */
    private static final Duration TIMEOUT = Duration.ofMillis(5);

    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final boolean inPlace;
    private final FakeNetty netty = new FakeNetty();
    private final ShuffleCounters counters = new ShuffleCounters();
    private final List<TestOutput> outputs = new ArrayList<>();
    private Node owner;
    private MapOutputDirectory directory;
    private MapOutputStore store;
    private ShmFabric fabric;
    private Pool readerPool;
    private PeerPaths paths;
    private TransferClient transfer;
    private TaskRead read;
    private final PeerLookups lookups = new PeerLookups(LONG);

    DamagedPeerTest(boolean inPlace) {
        this.inPlace = inPlace;
    }

    @BeforeEach
    void open() throws Exception {
        Random random = new Random(7);
        owner = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        directory = MapOutputDirectory.create(owner.pool(), SLOTS, UUID.randomUUID());
        store = new MapOutputStore(directory, new ShuffleCounters());
        fabric = new ShmFabric(1, 1 << 20, inPlace);
        readerPool = TestPools.create(path, 1 << 20, 1 << 20, fabric);
        Map<String, byte[]> addresses = new HashMap<>();
        addresses.put("shm", owner.fabric().localAddress());
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, directory.location().encode());
        Member member = new Member(PEER, UUID.randomUUID(), addresses);
        paths = new PeerPaths(
                List.of(fabric),
                new BlockingReads(new ReceiveLeases(readerPool, Duration.ZERO), LONG),
                id -> Optional.of(member),
                Duration.ZERO,
                TIMEOUT);
        transfer = new TransferClient(netty, counters, LONG, TransferClient.Heirs.NONE);
        read = new TaskRead(store, paths, lookups, new ReceiveLeases(readerPool, Duration.ZERO), counters, transfer);
        for (int map = 0; map < 3; map++) {
            byte[][] content = new byte[PARTITIONS][];
            for (int p = 0; p < PARTITIONS; p++) {
                content[p] = new byte[1 + random.nextInt(2000)];
                random.nextBytes(content[p]);
                netty.blocks().put("shuffle_" + SHUFFLE + "_" + map + "_" + p, content[p]);
            }
            TestOutput made = TestOutput.write(owner.pool(), map, content, random);
            outputs.add(made);
            store.add(SHUFFLE, store.epoch(SHUFFLE), made.output());
        }
    }

    @AfterEach
    void close() {
        transfer.close();
        lookups.close();
        paths.close();
        fabric.close();
        readerPool.close();
        store.close();
        owner.close();
    }

    /** All damage except a valid record that refers to other valid memory. */
    @Test
    void everyBlockComesRightOrFails() throws Exception {
        try (FuzzRun run = new FuzzRun("read from a damaged peer" + way(), FetchFailedException.class)) {
            damageAll(run);
        }
    }

    private String way() {
        return inPlace ? ", in place" : ", copied";
    }

    private void damageAll(FuzzRun run) throws Exception {
        Mutations mutations = new Mutations(run.random());
        DirectoryEntry entry = outputs.get(1).output().entry();
        MemorySlice index = region(entry.indexRegion())
                .slice(entry.indexOffset(), MapOutputIndex.lengthBytes(PARTITIONS, entry.extents()));
        BlockRange all = outputs.get(1).output().range(0, PARTITIONS);
        MemorySlice data = TestOutput.inMemory(outputs.get(1).output(), all).get(0);
        for (int round = 0; round < run.times(600); round++) {
            attempt(run, index, mutations.atRandom(TestPools.bytes(index)), false);
            attempt(run, slot(), mutations.atRandom(TestPools.bytes(slot())), true);
            attempt(run, data, mutations.atRandom(TestPools.bytes(data)), false);
        }
        // A record that seems half written is looked at for a while before it is given up.
        for (int round = 0; round < run.times(15); round++) {
            attempt(run, slot(), mutations.atRandom(TestPools.bytes(slot())), false);
            attempt(run, record(1), mutations.atRandom(TestPools.bytes(record(1))), false);
        }
        assertThat(run.harmless()).as("blocks that came one-sided").isPositive();
        assertThat(run.refused()).as("blocks that did not").isPositive();
    }

    /** Each length is positive and together they are right, but on the way they wrap around 2^64. */
    @Test
    void offsetsThatWrapAroundAreNotFollowed() throws Exception {
        DirectoryEntry entry = outputs.get(1).output().entry();
        long rowsBytes = (long) ROW_BYTES * PARTITIONS + Long.BYTES;
        long rowsOffset = MapOutputIndex.lengthBytes(PARTITIONS, entry.extents()) - rowsBytes;
        MemorySlice rows = region(entry.indexRegion()).slice(entry.indexOffset() + rowsOffset, rowsBytes);
        assertThat(rows.getLong(0))
                .as("the first partition begins where the data does")
                .isZero();
        assertThat(rows.getLong(rowsBytes - Long.BYTES))
                .as("the last ends where it does")
                .isEqualTo(entry.dataBytes());
        rows.putLong(2 * ROW_BYTES, Long.MIN_VALUE);
        rows.putLong(3 * ROW_BYTES, -5);
        for (int partition = 1; partition <= 3; partition++) {
            assertThat(cameOneSided(partition)).as("partition %d", partition).isFalse();
        }
    }

    private void attempt(FuzzRun run, MemorySlice victim, byte[] damaged, boolean sealed) {
        byte[] saved = TestPools.bytes(victim);
        netty.failing = run.random().nextInt(4) == 0;
        try {
            victim.putBytes(0, damaged, 0, damaged.length);
            if (sealed) {
                victim.putInt(RECORD_BYTES - 4, Crc32c.of(victim.slice(0, RECORD_BYTES - 4)));
            }
            int partition = run.random().nextInt(PARTITIONS);
            // Whatever it receives, a reader reads only the peer's regions.
            Supplier<String> what = () -> HexFormat.of().formatHex(damaged) + " at " + victim;
            run.attempt(what, Node.REGION_BYTES, () -> cameOneSided(partition));
        } finally {
            victim.putBytes(0, saved, 0, saved.length);
            paths.forgetShuffle(SHUFFLE);
            assertThat(paths.shuffleIds()).isEmpty();
        }
    }

    /** Reads from the damaged output and from others; true if no block needed Spark's block transfer. */
    private boolean cameOneSided(int partition) throws Exception {
        List<String> ids = List.of(
                "shuffle_" + SHUFFLE + "_0_" + partition,
                "shuffle_" + SHUFFLE + "_1_" + partition,
                "shuffle_" + SHUFFLE + "_2_" + partition);
        Answered answered = new Answered();
        List<String> left;
        try {
            left = read.read(PEER, ids, answered);
        } finally {
            awaitNoLeases();
        }
        answered.await(ids.size());
        assertThat(answered.answersById())
                .allSatisfy((id, count) -> assertThat(count).isOne());
        for (String id : ids) {
            byte[] block = answered.blockOrNull(id);
            if (block == null) {
                assertThat(netty.failing).as("the last path failed too").isTrue();
                assertThat(answered.failure(id)).hasMessageContaining(id);
            } else {
                assertThat(block).as(id).isEqualTo(netty.blocks().get(id));
            }
        }
        return left.isEmpty();
    }

    /** The thread of the fabric releases a block's lease after it has answered. */
    private void awaitNoLeases() {
        eventually().until(() -> readerPool.usage().leases() == 0);
    }

    private MemorySlice region(int id) {
        return owner.pool().regions().get(id).memory();
    }

    /** The slot of the shuffle; {@code docs/design/wire-format.md} has the offsets. */
    private MemorySlice slot() {
        long offset = directory.location().table().offset() + RECORD_BYTES * (1 + SHUFFLE % SLOTS);
        return region(directory.location().table().regionId()).slice(offset, RECORD_BYTES);
    }

    private MemorySlice record(int index) {
        return region(slot().getInt(8)).slice(slot().getLong(16) + (long) RECORD_BYTES * index, RECORD_BYTES);
    }
}
