// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.shuffle.read.BlockReader.Begun;
import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Seq;

/** Which way each block of a reduce task goes, and that it comes right that way; damaged peers: DamagedPeerTest. */
@Tag("unit")
@ParameterizedClass(name = "inPlace={0}")
@ValueSource(booleans = {true, false})
@Timeout(60)
@ExtendWith(LeakCheck.class)
class BlockLookupTest {
    private static final String SELF = "reader";
    private static final int SHUFFLE = 4;
    private static final int PARTITIONS = 4;
    /** Three of them fit into a batch. */
    private static final int BLOCK_BYTES = 300 << 10;

    private static final long POOL_BYTES = 8 << 20;
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final boolean inPlace;
    private final Random random = new Random(3);
    private final ShuffleCounters counters = new ShuffleCounters();
    private final Map<String, Executor> executors = new HashMap<>();
    private final Map<String, byte[]> expected = new HashMap<>();
    private final List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> wanted = new ArrayList<>();
    private final PeerLookups lookups = new PeerLookups(LONG);
    private FlakyFabric fabric;
    private PeerPaths paths;
    private ReceiveLeases leases;
    private FetchWindow window;

    @SuppressWarnings("NullAway.Init") // by find()
    private BlockLookup lookup;

    private long nextMapId;

    /** One that has map outputs. */
    private final class Executor implements AutoCloseable {
        private final FlakyFabric fabric = new FlakyFabric(new ShmFabric(1, POOL_BYTES, inPlace));
        private final Pool pool = TestPools.create(directory, POOL_BYTES, 1 << 20, fabric);
        private final MapOutputDirectory outputs;
        private final MapOutputStore store;

        Executor() throws Exception {
            outputs = MapOutputDirectory.create(pool, 16, UUID.randomUUID());
            store = new MapOutputStore(outputs, new ShuffleCounters());
        }

        Member member(String executorId) {
            return new Member(
                    executorId,
                    UUID.randomUUID(),
                    Map.of(
                            "shm",
                            fabric.localAddress(),
                            PeerPaths.DIRECTORY_ADDRESS,
                            outputs.location().encode()));
        }

        @Override
        public void close() {
            store.close();
            fabric.close();
            pool.close();
        }
    }

    BlockLookupTest(boolean inPlace) {
        this.inPlace = inPlace;
    }

    @BeforeEach
    void open() throws Exception {
        for (String id : List.of(SELF, "1", "2")) {
            executors.put(id, new Executor());
        }
        Map<String, Member> members = new HashMap<>();
        executors.forEach((id, executor) -> members.put(id, executor.member(id)));
        fabric = executor(SELF).fabric;
        leases = new ReceiveLeases(executor(SELF).pool, Duration.ZERO);
        paths = new PeerPaths(
                List.of(fabric), new BlockingReads(leases, LONG), id -> Optional.ofNullable(members.get(id)), LONG);
        window = new FetchWindow(paths, leases, LONG, POOL_BYTES, counters, wait -> {});
    }

    @AfterEach
    void close() {
        window.close();
        lookups.close();
        paths.close();
        executors.values().forEach(Executor::close);
    }

    private Executor executor(String id) {
        return Objects.requireNonNull(executors.get(id));
    }

    /** Asks for all blocks of a new map output. */
    private long want(String executorId) {
        long mapId = nextMapId++;
        List<Tuple3<BlockId, Object, Object>> blocks = new ArrayList<>();
        for (int p = 0; p < PARTITIONS; p++) {
            blocks.add(new Tuple3<>(new ShuffleBlockId(SHUFFLE, mapId, p), 1L, (int) mapId));
        }
        BlockManagerId owner = BlockManagerId.apply(executorId, "host", 7337, Option.empty());
        wanted.add(new Tuple2<>(owner, ScalaCollections.list(blocks)));
        return mapId;
    }

    /** Has an executor hold a map output in its pool, whose second block is so long, and asks for it. */
    private long wantPooled(String executorId, int secondBytes) throws Exception {
        long mapId = want(executorId);
        Executor holder = executor(executorId);
        byte[][] content = new byte[PARTITIONS][];
        for (int p = 0; p < PARTITIONS; p++) {
            content[p] = new byte[p == 1 ? secondBytes : BLOCK_BYTES];
            random.nextBytes(content[p]);
            expected.put(name(mapId, p), content[p]);
        }
        TestOutput output = TestOutput.write(holder.pool, mapId, content, random);
        holder.store.add(SHUFFLE, holder.store.epoch(SHUFFLE), output.output());
        return mapId;
    }

    private static String name(long mapId, int partition) {
        return "shuffle_" + SHUFFLE + "_" + mapId + "_" + partition;
    }

    private static List<String> all(long... mapIds) {
        List<String> names = new ArrayList<>();
        for (long mapId : mapIds) {
            for (int p = 0; p < PARTITIONS; p++) {
                names.add(name(mapId, p));
            }
        }
        return names;
    }

    private static List<String> names(List<BlockRequest> blocks) {
        return blocks.stream().map(block -> block.id().name()).toList();
    }

    /** Looks all blocks up, reads the one-sided ones, and verifies them. */
    private void find(long maximumBytes) throws IOException {
        lookup = new BlockLookup(SELF, executor(SELF).store, paths, lookups, window, maximumBytes);
        lookup.find(ScalaCollections.iterator(wanted.iterator()));
        ReadTally tally = new ReadTally(new TempShuffleReadMetrics(), counters, false, false);
        List<String> read = new ArrayList<>();
        try (BlockReader reader =
                new BlockReader(lookup.direct(), lookup.sources(), window::cancel, tally, true, null)) {
            byte[] buffer = new byte[1000];
            for (Begun begun = reader.begin(buffer); begun != null; begun = reader.begin(buffer)) {
                String name = begun.wanted().id().name();
                assertThat(begun.bytes().readAllBytes()).as(name).isEqualTo(expected.get(name));
                read.add(name);
            }
            assertThat(reader.takeMissed()).isEmpty();
        }
        assertThat(read).isEqualTo(names(lookup.direct()));
    }

    /** Returns the owners of blocks in the order in which they come, without repetitions. */
    private List<String> turns() {
        List<String> turns = new ArrayList<>();
        for (BlockRequest block : lookup.direct()) {
            String owner = block.owner().executorId();
            if (turns.isEmpty() || !turns.get(turns.size() - 1).equals(owner)) {
                turns.add(owner);
            }
        }
        return turns;
    }

    /** Copied, two map outputs are batches of three, three and two blocks, and peers take turns. */
    @Test
    void blocksOfItselfAndOfPeersAreReadDirectly() throws Exception {
        wantPooled("1", BLOCK_BYTES);
        wantPooled("2", BLOCK_BYTES);
        wantPooled(SELF, BLOCK_BYTES);
        wantPooled("1", BLOCK_BYTES);
        wantPooled("2", BLOCK_BYTES);
        find(1 << 20);
        assertThat(lookup.others()).isEmpty();
        assertThat(names(lookup.direct())).containsExactlyInAnyOrderElementsOf(all(0, 1, 2, 3, 4));
        assertThat(turns()).isEqualTo(inPlace ? List.of(SELF, "1", "2") : List.of(SELF, "1", "2", "1", "2", "1", "2"));
    }

    @Test
    void blocksOutsideThePoolAreFetchedBySpark() throws Exception {
        long ofNobody = want("9");
        long pooled = wantPooled("1", BLOCK_BYTES);
        long inFile = want("1");
        MapOutputStore store = executor("1").store;
        assertThat(store.adoptFile(
                        new OutputKey(SHUFFLE, inFile), store.epoch(SHUFFLE), PARTITIONS, 99, System.nanoTime()))
                .isTrue();
        long unknown = want("1");
        long ownInFile = want(SELF);
        find(1 << 20);
        assertThat(names(lookup.direct())).isEqualTo(all(pooled));
        assertThat(names(lookup.others()))
                .containsExactlyInAnyOrderElementsOf(all(ofNobody, inFile, unknown, ownInFile));
    }

    /** Spark may fetch it to a file, with its neighbours, because Spark merges adjacent blocks. */
    @Test
    void aMapOutputWithALargeBlockIsCopiedBySparkAsAWhole() throws Exception {
        long small = wantPooled("1", BLOCK_BYTES);
        long large = wantPooled("1", BLOCK_BYTES + 1);
        long smallToo = wantPooled("1", BLOCK_BYTES);
        find(BLOCK_BYTES);
        if (inPlace) {
            assertThat(names(lookup.direct())).as("nothing is copied").isEqualTo(all(small, large, smallToo));
        } else {
            assertThat(names(lookup.direct())).isEqualTo(all(small, smallToo));
            assertThat(names(lookup.others())).isEqualTo(all(large));
        }
    }

    /** An index that says so is one whose memory was freed and cleared. */
    @Test
    void anEmptyBlockIsNotBelieved() throws Exception {
        long sound = wantPooled("1", BLOCK_BYTES);
        long cleared = wantPooled("1", 0);
        if (!inPlace) {
            find(1 << 20);
            assertThat(names(lookup.direct())).isEqualTo(all(sound));
            assertThat(names(lookup.others())).isEqualTo(all(cleared));
        }
    }

    @Test
    void ofAPeerThatFailsAllIsForSparksFetch() throws Exception {
        long failing = wantPooled("1", BLOCK_BYTES);
        assertThat(paths.to("1")).isNotNull();
        fabric.failing = true;
        find(1 << 20);
        assertThat(names(lookup.others())).isEqualTo(all(failing));
        assertThat(lookup.direct()).isEmpty();
        assertThat(paths.known("1")).as("quarantined").isNull();
    }

    @Test
    void aPeerThatIsNotToBlameKeepsItsPath() throws Exception {
        long unanswered = wantPooled("1", BLOCK_BYTES);
        assertThat(paths.to("1")).isNotNull();
        fabric.reason = Reason.NOT_CONNECTED;
        fabric.failing = true;
        find(1 << 20);
        assertThat(names(lookup.others())).isEqualTo(all(unanswered));
        assertThat(paths.known("1")).isNotNull();
    }
}
