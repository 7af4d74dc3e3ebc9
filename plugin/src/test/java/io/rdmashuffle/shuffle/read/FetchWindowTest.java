// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.DirectoryLocation;
import io.rdmashuffle.directory.IndexCache;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.io.InterruptedIOException;
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
import java.util.concurrent.atomic.AtomicInteger;
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
class FetchWindowTest {
    private static final int BATCH = 4096;
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final long LONG_AGO =
            System.nanoTime() - Duration.ofMinutes(1).toNanos();
    private static final BlockManagerId OWNER = BlockManagerId.apply("1", "localhost", 7337, scala.Option.empty());

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final BlockingQueue<ReadRequest> begun = new LinkedBlockingQueue<>();
    private final ShuffleCounters counters = new ShuffleCounters();
    private final List<Long> waits = new ArrayList<>();
    private final List<Lease> filling = new ArrayList<>();
    private final Set<Long> moved = ConcurrentHashMap.newKeySet();
    private volatile boolean hasRoom = true;
    private Pool pool;
    private ReceiveLeases leases;
    private PeerPaths paths;
    private FetchWindow reads;

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

    /** Two and a half batches may be under way. */
    private FetchWindow reads(Duration timeout) {
        return new FetchWindow(paths, leases, timeout, BATCH * 5 / 2, counters, waits::add);
    }

    /** Returns a path to a peer whose reads the test completes. */
    private PeerPath path(String executorId) {
        Peer peer = (Peer) Proxy.newProxyInstance(
                Peer.class.getClassLoader(), new Class<?>[] {Peer.class}, (proxy, method, arguments) -> {
                    if (!method.getName().equals("read")) {
                        throw new UnsupportedOperationException(method.getName());
                    }
                    begun.add((ReadRequest) arguments[0]);
                    return hasRoom;
                });
        DirectoryLocation nowhere = new DirectoryLocation(new RemoteSlice(0, 0, 1), 1);
        RemoteDirectory none =
                new RemoteDirectory(peer, nowhere, new BlockingReads(leases, TIMEOUT), new IndexCache(0));
        return new PeerPath(executorId, peer, none, "verbs", ShuffleCounter.VERBS_BYTES);
    }

    private FetchBatch batch(PeerPath path, int number) {
        return batch(path, number, it -> !moved.contains((long) number));
    }

    private static FetchBatch batch(PeerPath path, int number, FetchBatch.Refresh refresh) {
        FetchBatch batch = new FetchBatch(path, refresh, LONG_AGO);
        batch.add(
                block(number),
                DirectoryEntry.file(number, 1, BATCH),
                new BlockRange(
                        List.of(new RemoteSlice(0, number * 2L * BATCH, BATCH)), new long[] {BATCH}, new int[] {number
                        }));
        return batch;
    }

    private static BlockRequest block(int number) {
        return new BlockRequest(OWNER, new Tuple3<>(new ShuffleBlockId(0, number, 0), 1L, number));
    }

    private List<FetchBatch> batches(PeerPath path, int count) {
        List<FetchBatch> batches = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            batches.add(batch(path, i));
        }
        return batches;
    }

    private ReadRequest arrive() throws InterruptedException {
        ReadRequest request = begun.poll(20, TimeUnit.SECONDS);
        request.target().memory().putLong(0, request.sources().get(0).offset());
        request.listener().succeeded(request);
        return request;
    }

    private void fail(Reason reason) throws InterruptedException {
        ReadRequest request = begun.poll(20, TimeUnit.SECONDS);
        request.target().close();
        request.listener().failed(request, new ReadFailedException(reason, "as the test wishes"));
    }

    @Test
    void batchesAreReadAheadInOrderAsFarAsTheWindowGoes() throws Exception {
        List<FetchBatch> batches = batches(path("1"), 6);
        reads.addAll(batches);
        for (int i = 0; i < 6; i++) {
            assertThat(begun).as("before batch %d is used", i).hasSize(i == 0 ? 2 : 1);
            arrive();
            MemorySlice bytes = reads.await(batches.get(i));
            assertThat(bytes).isNotNull();
            assertThat(bytes.getLong(0)).isEqualTo(i * 2L * BATCH);
            assertThat(reads.await(batches.get(i))).as("asked again").isNotNull();
            assertThat(pool.usage().leases()).isLessThanOrEqualTo(2);
        }
        assertThat(begun).isEmpty();
        assertThat(pool.usage().leases()).as("the last one is in use").isOne();
        assertThat(counters.snapshot())
                .containsEntry(ShuffleCounter.FETCH_BATCHES, 6L)
                .containsEntry(ShuffleCounter.FETCH_BATCH_BYTES, 6L * BATCH);
    }

    @Test
    void aTaskWaitsForTheBatchThatItNeeds() throws Exception {
        List<FetchBatch> batches = batches(path("1"), 1);
        reads.addAll(batches);
        AtomicReference<Thread> reader = new AtomicReference<>();
        CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> {
            reader.set(Thread.currentThread());
            return reads.await(batches.get(0));
        });
        eventually().until(() -> reader.get() != null && reader.get().getState() == Thread.State.TIMED_WAITING);
        // Only whole milliseconds are reported.
        Thread.sleep(5);
        arrive();
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isNotNull();
        assertThat(waits).isNotEmpty();
    }

    /** They are Spark's fetchWaitTime, by which users and the driver (ADR 31) see that the network is slow. */
    @Test
    void lookupsAreWaits() throws Exception {
        reads.lookUp(FetchWindowTest::fiveMillis);
        assertThat(waits.stream().mapToLong(Long::longValue).sum()).isGreaterThanOrEqualTo(5);
        waits.clear();
        List<FetchBatch> batches = batches(path("1"), 2);
        batches.add(batch(path("1"), 2, located -> {
            fiveMillis();
            return true;
        }));
        reads.addAll(batches);
        for (FetchBatch each : batches) {
            arrive();
            assertThat(reads.await(each)).isNotNull();
        }
        assertThat(waits.stream().mapToLong(Long::longValue).sum()).isGreaterThanOrEqualTo(5);
    }

    private static void fiveMillis() {
        long began = System.nanoTime();
        while (System.nanoTime() - began < TimeUnit.MILLISECONDS.toNanos(5)) {
            Thread.onSpinWait();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"PEER_GONE", "NOT_CONNECTED"})
    void onePathThatFailsCostsOneBatch(Reason reason) throws Exception {
        PeerPath dead = path("1");
        PeerPath alive = path("2");
        List<FetchBatch> batches = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            batches.add(batch(i % 2 == 0 ? dead : alive, i));
        }
        reads.addAll(batches);
        fail(reason);
        assertThat(reads.await(batches.get(0))).isNull();
        for (int i = 1; i < 6; i++) {
            if (i % 2 == 1) {
                arrive();
                assertThat(reads.await(batches.get(i))).isNotNull();
            } else {
                assertThat(reads.await(batches.get(i))).isNull();
            }
        }
        assertThat(begun).as("nothing more was asked of the dead one").isEmpty();
    }

    @Test
    void aBatchThatThePeerCannotGiveCostsNoOther() throws Exception {
        List<FetchBatch> batches = batches(path("1"), 2);
        reads.addAll(batches);
        fail(Reason.UNREADABLE);
        assertThat(reads.await(batches.get(0))).isNull();
        arrive();
        assertThat(reads.await(batches.get(1))).isNotNull();
    }

    @Test
    void blockMovedBeforeItsTurnIsNotRead() throws Exception {
        List<FetchBatch> batches = batches(path("1"), 4);
        reads.addAll(batches);
        moved.add(2L);
        for (int i = 0; i < 4; i++) {
            if (i == 2) {
                assertThat(reads.await(batches.get(i))).isNull();
            } else {
                assertThat(arrive().sources().get(0).offset()).isEqualTo(i * 2L * BATCH);
                assertThat(reads.await(batches.get(i))).isNotNull();
            }
        }
    }

    /** Later ones wait until they are needed: by then there may be room. */
    @Test
    void failsOnlyTheAwaitedBatchWhenThePoolIsFull() throws Exception {
        filling.addAll(TestPools.fill(pool));
        List<FetchBatch> batches = batches(path("1"), 2);
        reads.addAll(batches);
        assertThat(reads.await(batches.get(0))).isNull();
        filling.forEach(Lease::close);
        filling.clear();
        CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> reads.await(batches.get(1)));
        arrive();
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isNotNull();
    }

    @Test
    void waitsOnceForPeerThatDoesNotAnswerLookups() throws Exception {
        AtomicInteger lookups = new AtomicInteger();
        PeerPath silent = path("1");
        List<FetchBatch> batches = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            batches.add(batch(silent, i, it -> {
                lookups.incrementAndGet();
                throw new ReadFailedException(Reason.TIMED_OUT, "as the test wishes");
            }));
        }
        reads.addAll(batches);
        for (FetchBatch each : batches) {
            assertThat(reads.await(each)).isNull();
        }
        assertThat(lookups).hasValue(1);
    }

    @Test
    void readsOneLargerBatchWhileAnotherIsConsumed() throws Exception {
        List<FetchBatch> batches = new ArrayList<>();
        PeerPath peer = path("1");
        for (int i = 0; i < 4; i++) {
            FetchBatch large = new FetchBatch(peer, it -> true, LONG_AGO);
            long bytes = 3L * BATCH;
            large.add(
                    block(i),
                    DirectoryEntry.file(i, 1, bytes),
                    new BlockRange(
                            List.of(new RemoteSlice(0, i * 4L * BATCH, bytes)), new long[] {bytes}, new int[] {i}));
            batches.add(large);
        }
        reads.addAll(batches);
        assertThat(begun).as("larger than the window").hasSize(1);
        for (int i = 0; i < 4; i++) {
            arrive();
            assertThat(reads.await(batches.get(i))).isNotNull();
            assertThat(begun).as("while batch %d is consumed", i).hasSize(i == 3 ? 0 : 1);
        }
    }

    /** Otherwise a task would lease the memory of its whole window and wait with it. */
    @Test
    void whileABatchWaitsForRoomInFlightNoOtherIsStarted() throws Exception {
        hasRoom = false;
        List<FetchBatch> batches = batches(path("1"), 3);
        reads.addAll(batches);
        assertThat(begun).hasSize(1);
        CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> reads.await(batches.get(0)));
        hasRoom = true;
        arrive();
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isNotNull();
        assertThat(begun).as("as many as the window has room for").hasSize(1);
        arrive();
        assertThat(reads.await(batches.get(1))).isNotNull();
        arrive();
        assertThat(reads.await(batches.get(2))).isNotNull();
    }

    @Test
    void aReadThatNeverEndsIsGivenUp() throws Exception {
        try (FetchWindow hasty = reads(Duration.ofMillis(20))) {
            List<FetchBatch> batches = batches(path("1"), 1);
            hasty.addAll(batches);
            assertThat(hasty.await(batches.get(0))).isNull();
        }
        assertThat(pool.usage().leases()).as("the fabric may still write").isOne();
        arrive();
        assertThat(pool.usage().leases()).isZero();
    }

    @Test
    void theEndOfTheTaskWakesWhoWaits() throws Exception {
        List<FetchBatch> batches = batches(path("1"), 3);
        reads.addAll(batches);
        CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> reads.await(batches.get(0)));
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

    /** As RDD.pipe has it, whose thread reads on when the task has ended. */
    @Test
    void theEndOfTheTaskWakesWhoWaitsForRoomInFlight() throws Exception {
        hasRoom = false;
        List<FetchBatch> batches = batches(path("1"), 2);
        reads.addAll(batches);
        AtomicReference<Thread> reader = new AtomicReference<>();
        CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> {
            reader.set(Thread.currentThread());
            return reads.await(batches.get(0));
        });
        eventually().until(() -> reader.get() != null && reader.get().getState() == Thread.State.TIMED_WAITING);
        reads.cancel();
        assertThatThrownBy(() -> waiting.get(TIMEOUT.toMillis() / 2, TimeUnit.MILLISECONDS))
                .rootCause()
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has ended");
        reads.close();
        arrive();
        assertThat(begun).isEmpty();
    }

    private void assertEndsWhileItWaits(FetchWindow window, FetchBatch batch) throws Exception {
        AtomicReference<Thread> reader = new AtomicReference<>();
        CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> {
            reader.set(Thread.currentThread());
            window.addAll(List.of(batch));
            return window.await(batch);
        });
        eventually().until(() -> reader.get() != null && reader.get().getState() == Thread.State.TIMED_WAITING);
        window.cancel();
        window.close();
        assertThatThrownBy(() -> waiting.get(TIMEOUT.toMillis() / 2, TimeUnit.MILLISECONDS))
                .rootCause()
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has ended");
        assertThat(begun).isEmpty();
    }

    @Test
    void theEndOfTheTaskWakesWhoWaitsForALease() throws Exception {
        filling.addAll(TestPools.fill(pool));
        ReceiveLeases patient = new ReceiveLeases(pool, TIMEOUT);
        try (FetchWindow window = new FetchWindow(paths, patient, TIMEOUT, BATCH, counters, waits::add)) {
            assertEndsWhileItWaits(window, batch(path("1"), 0));
        }
    }

    @Test
    void theEndOfTheTaskWakesWhoLooksABatchUp() throws Exception {
        FetchBatch batch = batch(path("1"), 0, it -> {
            try {
                Thread.sleep(TIMEOUT.toMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("as a read of the directory does");
            }
            return true;
        });
        assertEndsWhileItWaits(reads, batch);
    }

    @Test
    void theEndOfTheTaskWakesWhoLooksItsBlocksUp() throws Exception {
        AtomicReference<Thread> reader = new AtomicReference<>();
        CompletableFuture<Void> lookup = CompletableFuture.runAsync(() -> reads.lookUp(() -> {
            reads.addAll(List.of());
            reader.set(Thread.currentThread());
            try {
                Thread.sleep(TIMEOUT.toMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }));
        eventually().until(() -> reader.get() != null && reader.get().getState() == Thread.State.TIMED_WAITING);
        reads.cancel();
        assertThatThrownBy(() -> lookup.get(TIMEOUT.toMillis() / 2, TimeUnit.MILLISECONDS))
                .rootCause()
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has ended");
    }

    @Test
    void aThreadLeavesWithoutTheInterruptOfTheEnd() throws Exception {
        AtomicReference<Thread> reader = new AtomicReference<>();
        CompletableFuture<Boolean> left = CompletableFuture.supplyAsync(() -> {
            try {
                reads.lookUp(() -> {
                    reader.set(Thread.currentThread());
                    while (!Thread.currentThread().isInterrupted()) {
                        Thread.onSpinWait();
                    }
                });
                return true;
            } catch (Exception e) {
                return Thread.currentThread().isInterrupted();
            }
        });
        eventually().until(() -> reader.get() != null);
        reads.cancel();
        assertThat(left.get(20, TimeUnit.SECONDS)).isFalse();
    }

    /** Looking up a batch of small blocks takes longer than reading it. */
    @Test
    void batchesThatWaitForRoomAreLocatedOnce() throws Exception {
        hasRoom = false;
        AtomicInteger lookups = new AtomicInteger();
        PeerPath peer = path("1");
        List<FetchBatch> batches = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            batches.add(batch(peer, i, it -> lookups.incrementAndGet() > 0));
        }
        reads.addAll(batches);
        for (FetchBatch each : batches) {
            CompletableFuture<MemorySlice> waiting = CompletableFuture.supplyAsync(() -> reads.await(each));
            arrive();
            assertThat(waiting.get(20, TimeUnit.SECONDS)).isNotNull();
        }
        assertThat(lookups).hasValue(5);
    }

    @Test
    void batchesFollowMapOutputsThatMove() throws Exception {
        AtomicReference<FetchBatch> planned = new AtomicReference<>();
        BlockRange moved = new BlockRange(List.of(new RemoteSlice(3, 64, BATCH)), new long[] {BATCH}, new int[] {0});
        FetchBatch batch = batch(
                path("1"),
                0,
                it -> planned.get() == null || it.moveTo(List.of(DirectoryEntry.file(0, 1, BATCH)), List.of(moved)));
        planned.set(batch);
        reads.addAll(List.of(batch));
        assertThat(arrive().sources()).containsExactly(new RemoteSlice(3, 64, BATCH));
        assertThat(reads.await(batch)).isNotNull();
    }

    @Test
    void batchesDoNotFollowOtherBytes() throws Exception {
        FetchBatch batch = batch(path("1"), 0, it -> true);
        for (BlockRange other : List.of(
                new BlockRange(List.of(new RemoteSlice(3, 64, BATCH)), new long[] {BATCH}, new int[] {1}),
                new BlockRange(List.of(new RemoteSlice(3, 64, BATCH - 1)), new long[] {BATCH - 1}, new int[] {0}))) {
            assertThat(batch.moveTo(List.of(DirectoryEntry.file(0, 1, BATCH)), List.of(other)))
                    .isFalse();
        }
        try (Lease target = TestPools.reserve(pool, Purpose.RECEIVE, BATCH)) {
            assertThat(batch.into(target, Long.MAX_VALUE).sources()).containsExactly(new RemoteSlice(0, 0, BATCH));
        }
    }

    @Test
    void adjacentBlocksAreReadAtOnce() throws Exception {
        FetchBatch batch = new FetchBatch(path("1"), it -> true, LONG_AGO);
        RemoteSlice[] pieces = {
            new RemoteSlice(0, 100, 20),
            new RemoteSlice(0, 120, 5),
            new RemoteSlice(1, 125, 5),
            new RemoteSlice(1, 131, 5),
            new RemoteSlice(1, 120, 5)
        };
        for (int i = 0; i < pieces.length; i++) {
            BlockRange range = new BlockRange(List.of(pieces[i]), new long[] {pieces[i].lengthBytes()}, new int[1]);
            batch.add(block(i), DirectoryEntry.file(i, 1, 1), range);
        }
        assertThat(batch.lengthBytes()).isEqualTo(40);
        assertThat(batch.requests())
                .extracting(request -> ((FetchBatch.Copied) request.location()).offset())
                .containsExactly(0L, 20L, 25L, 30L, 35L);
        try (Lease target = TestPools.reserve(pool, Purpose.RECEIVE, 40)) {
            assertThat(batch.into(target, Long.MAX_VALUE).sources())
                    .containsExactly(new RemoteSlice(0, 100, 25), pieces[2], pieces[3], pieces[4]);
        }
    }
}
