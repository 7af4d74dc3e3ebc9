// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.DirectoryLocation;
import io.rdmashuffle.directory.IndexCache;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadBatch;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Tuple3;

@Tag("unit")
@Timeout(60)
class SlabReadsTest {
    private static final int SLAB = 4096;
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final BlockManagerId OWNER = BlockManagerId.apply("1", "localhost", 7337, scala.Option.empty());

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final BlockingQueue<ReadBatch> begun = new LinkedBlockingQueue<>();
    private final ShuffleCounters counters = new ShuffleCounters();
    private final List<Long> waits = new ArrayList<>();
    private final List<Lease> filling = new ArrayList<>();
    private final Set<Long> moved = ConcurrentHashMap.newKeySet();
    private volatile boolean hasRoom = true;
    private Pool pool;
    private ReceiveLeases leases;
    private PeerPaths paths;
    private SlabReads reads;

    @BeforeEach
    void open() {
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
        leases = new ReceiveLeases(pool, Duration.ZERO);
        paths = new PeerPaths(
                List.of(), new BlockingReads(leases, TIMEOUT), executor -> Optional.empty(), Duration.ofSeconds(1));
        reads = reads(TIMEOUT);
    }

    @AfterEach
    void nothingIsLeased() {
        reads.close();
        filling.forEach(Lease::close);
        assertThat(pool.usage().leases()).isZero();
        pool.close();
    }

    /** Two slabs and a half may be under way. */
    private SlabReads reads(Duration timeout) {
        return new SlabReads(paths, leases, timeout, SLAB * 5 / 2, counters, waits::add);
    }

    /** A peer that takes what is to be read, and leaves it to the test. */
    private PeerPath path(String executorId) {
        Peer peer = (Peer) Proxy.newProxyInstance(
                Peer.class.getClassLoader(), new Class<?>[] {Peer.class}, (proxy, method, arguments) -> {
                    if (!method.getName().equals("read")) {
                        throw new UnsupportedOperationException(method.getName());
                    }
                    return hasRoom && begun.add((ReadBatch) arguments[0]);
                });
        DirectoryLocation nowhere = new DirectoryLocation(new RemoteSlice(0, 0, 1), 1);
        RemoteDirectory none =
                new RemoteDirectory(peer, nowhere, new BlockingReads(leases, TIMEOUT), new IndexCache(0));
        return new PeerPath(executorId, peer, none, ShuffleCounter.VERBS_BYTES);
    }

    private Slab slab(PeerPath path, int number) {
        Slab slab = new Slab(path, (shuffleId, entry) -> !moved.contains(entry.mapId()));
        slab.add(
                block(number),
                DirectoryEntry.file(number, 1, SLAB),
                new BlockRange(
                        List.of(new RemoteSlice(0, number * 2L * SLAB, SLAB)), new long[] {SLAB}, new int[] {number}));
        return slab;
    }

    private static WantedBlock block(int number) {
        return new WantedBlock(OWNER, new Tuple3<>(new ShuffleBlockId(0, number, 0), 1L, number));
    }

    private List<Slab> slabs(PeerPath path, int count) {
        List<Slab> slabs = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            slabs.add(slab(path, i));
        }
        return slabs;
    }

    private ReadRequest arrive() throws InterruptedException {
        ReadBatch batch = begun.poll(20, TimeUnit.SECONDS);
        ReadRequest request = batch.requests().get(0);
        request.target().memory().putLong(0, request.sources().get(0).offset());
        batch.listener().succeeded(request);
        return request;
    }

    private void fail(Reason reason) throws InterruptedException {
        ReadBatch batch = begun.poll(20, TimeUnit.SECONDS);
        ReadRequest request = batch.requests().get(0);
        request.target().close();
        batch.listener().failed(request, new ReadFailedException(reason, "as the test wishes"));
    }

    @Test
    void slabsAreReadAheadInOrderAsFarAsTheWindowGoes() throws Exception {
        List<Slab> slabs = slabs(path("1"), 6);
        reads.addAll(slabs);
        for (int i = 0; i < 6; i++) {
            assertThat(begun).as("before slab %d is used", i).hasSize(i == 0 ? 2 : 1);
            arrive();
            MemorySlice bytes = reads.await(slabs.get(i));
            assertThat(bytes).isNotNull();
            assertThat(bytes.getLong(0)).isEqualTo(i * 2L * SLAB);
            assertThat(reads.await(slabs.get(i))).as("asked again").isNotNull();
            assertThat(pool.usage().leases()).isLessThanOrEqualTo(2);
        }
        assertThat(begun).isEmpty();
        assertThat(pool.usage().leases()).as("the last one is in use").isOne();
        assertThat(counters.snapshot())
                .containsEntry(ShuffleCounter.SLABS, 6L)
                .containsEntry(ShuffleCounter.SLAB_BYTES, 6L * SLAB);
    }

    @Test
    void aTaskWaitsForTheSlabThatItNeeds() throws Exception {
        List<Slab> slabs = slabs(path("1"), 1);
        reads.addAll(slabs);
        AtomicReference<Thread> reader = new AtomicReference<>();
        CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> {
            reader.set(Thread.currentThread());
            return reads.await(slabs.get(0));
        });
        while (reader.get() == null || reader.get().getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(1);
        }
        // What is reported are whole milliseconds.
        Thread.sleep(5);
        arrive();
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isNotNull();
        assertThat(waits).isNotEmpty();
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"PEER_GONE", "NOT_CONNECTED"})
    void onePathThatFailsCostsOneSlab(Reason reason) throws Exception {
        PeerPath dead = path("1");
        PeerPath alive = path("2");
        List<Slab> slabs = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            slabs.add(slab(i % 2 == 0 ? dead : alive, i));
        }
        reads.addAll(slabs);
        fail(reason);
        assertThat(reads.await(slabs.get(0))).isNull();
        for (int i = 1; i < 6; i++) {
            if (i % 2 == 1) {
                arrive();
                assertThat(reads.await(slabs.get(i))).isNotNull();
            } else {
                assertThat(reads.await(slabs.get(i))).isNull();
            }
        }
        assertThat(begun).as("nothing more was asked of the dead one").isEmpty();
    }

    @Test
    void aSlabThatThePeerCannotGiveCostsNoOther() throws Exception {
        List<Slab> slabs = slabs(path("1"), 2);
        reads.addAll(slabs);
        fail(Reason.UNREADABLE);
        assertThat(reads.await(slabs.get(0))).isNull();
        arrive();
        assertThat(reads.await(slabs.get(1))).isNotNull();
    }

    @Test
    void whatMovedBeforeItsTurnIsNotRead() throws Exception {
        List<Slab> slabs = slabs(path("1"), 4);
        reads.addAll(slabs);
        moved.add(2L);
        for (int i = 0; i < 4; i++) {
            if (i == 2) {
                assertThat(reads.await(slabs.get(i))).isNull();
            } else {
                assertThat(arrive().sources().get(0).offset()).isEqualTo(i * 2L * SLAB);
                assertThat(reads.await(slabs.get(i))).isNotNull();
            }
        }
    }

    @Test
    void withoutRoomInThePoolSlabsDoNotCome() throws Exception {
        filling.addAll(TestPools.fill(pool));
        List<Slab> slabs = slabs(path("1"), 2);
        reads.addAll(slabs);
        assertThat(reads.await(slabs.get(0))).isNull();
        filling.forEach(Lease::close);
        filling.clear();
        assertThat(reads.await(slabs.get(1))).as("given up, too").isNull();
    }

    @Test
    void roomInFlightIsWaitedForAsLongAsARead() throws Exception {
        hasRoom = false;
        List<Slab> slabs = slabs(path("1"), 1);
        reads.addAll(slabs);
        CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> reads.await(slabs.get(0)));
        Thread.sleep(5);
        assertThat(waiting).isNotDone();
        hasRoom = true;
        arrive();
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isNotNull();

        hasRoom = false;
        try (SlabReads hasty = reads(Duration.ofMillis(20))) {
            List<Slab> others = slabs(path("2"), 1);
            hasty.addAll(others);
            assertThat(hasty.await(others.get(0))).isNull();
        }
    }

    @Test
    void aReadThatNeverEndsIsGivenUp() throws Exception {
        try (SlabReads hasty = reads(Duration.ofMillis(20))) {
            List<Slab> slabs = slabs(path("1"), 1);
            hasty.addAll(slabs);
            assertThat(hasty.await(slabs.get(0))).isNull();
        }
        assertThat(pool.usage().leases()).as("the fabric may still write").isOne();
        arrive();
        assertThat(pool.usage().leases()).isZero();
    }

    @Test
    void theEndOfTheTaskWakesWhoWaits() throws Exception {
        List<Slab> slabs = slabs(path("1"), 3);
        reads.addAll(slabs);
        CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> reads.await(slabs.get(0)));
        Thread.sleep(5);
        reads.cancel();
        assertThatThrownBy(() -> waiting.get(20, TimeUnit.SECONDS))
                .rootCause()
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has ended");
        reads.close();
        arrive();
        fail(Reason.TIMED_OUT);
        assertThat(begun).isEmpty();
        assertThat(pool.usage().leases()).isZero();
    }

    @Test
    void whatIsAdjacentIsReadInOnePiece() throws Exception {
        Slab slab = new Slab(path("1"), (shuffleId, entry) -> true);
        RemoteSlice[] pieces = {
            new RemoteSlice(0, 100, 20),
            new RemoteSlice(0, 120, 5),
            new RemoteSlice(1, 125, 5),
            new RemoteSlice(1, 131, 5),
            new RemoteSlice(1, 120, 5)
        };
        for (int i = 0; i < pieces.length; i++) {
            BlockRange range = new BlockRange(List.of(pieces[i]), new long[] {pieces[i].lengthBytes()}, new int[1]);
            slab.add(block(i), DirectoryEntry.file(i, 1, 1), range);
        }
        assertThat(slab.lengthBytes()).isEqualTo(40);
        assertThat(slab.parts()).extracting(Slab.Part::offset).containsExactly(0L, 20L, 25L, 30L, 35L);
        try (Lease target = TestPools.reserve(pool, Purpose.RECEIVE, 40)) {
            assertThat(slab.into(target).sources())
                    .containsExactly(new RemoteSlice(0, 100, 25), pieces[2], pieces[3], pieces[4]);
        }
    }
}
