// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.HeldPeer;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of prefetches for lookups, from many peers concurrently. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PrefetchTest {
    private static final int SHUFFLE = 3;
    private static final int MAPS = 10;
    private static final int PARTITIONS = 20;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final HeldPeer network = new HeldPeer();
    private final List<TestOutput> outputs = new ArrayList<>();
    private final List<Peer> peers = new ArrayList<>();
    private final IndexCache cache = new IndexCache(16 << 20);
    private Node owner;
    private Node reader;
    private MapOutputDirectory directory;

    @BeforeEach
    void open() throws Exception {
        owner = new Node(path, new ShmFabric(1, 16 << 20, false));
        reader = new Node(path, new ShmFabric(1, 16 << 20, false));
        directory = MapOutputDirectory.create(owner.pool(), 16, UUID.randomUUID());
        for (int map = 0; map < MAPS; map++) {
            publish(map);
        }
        growReader();
    }

    /** A pool that has to grow first has no room for those who do not wait. */
    private void growReader() throws InterruptedException {
        List<Lease> regions = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            regions.add(TestPools.reserve(reader.pool(), Purpose.RECEIVE, Node.REGION_BYTES));
        }
        regions.forEach(Lease::close);
    }

    private void publish(long mapId) throws Exception {
        TestOutput output = TestOutput.random(owner.pool(), mapId, PARTITIONS, 9, new Random(mapId));
        outputs.add(output);
        assertThat(directory.publish(SHUFFLE, output.output().entry())).isTrue();
    }

    @AfterEach
    void close() {
        assertThat(reader.pool().usage().leases()).isZero();
        peers.forEach(Peer::close);
        outputs.forEach(each -> each.output().close());
        directory.close();
        reader.close();
        owner.close();
    }

    /** Each is a peer of its own to the reader, though all show the same memory. */
    private RemoteDirectory remote() throws Exception {
        Peer peer = reader.connect(owner);
        peers.add(peer);
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), TIMEOUT), TIMEOUT);
        return new RemoteDirectory(network.hold(peer), directory.location(), reads, cache);
    }

    private CompletableFuture<Void> prefetch(RemoteDirectory remote) {
        List<Long> mapIds =
                outputs.stream().map(each -> each.output().entry().mapId()).toList();
        return remote.prefetch(SHUFFLE, mapIds, 0, 1, Runnable::run).thenAccept(rows -> {});
    }

    private void assertKnown(RemoteDirectory remote) throws Exception {
        long before = network.reads();
        for (TestOutput each : outputs) {
            DirectoryEntry entry = each.output().entry();
            assertThat(remote.find(SHUFFLE, entry.mapId())).isEqualTo(entry);
            for (int partition = 0; partition < PARTITIONS; partition++) {
                List<BlockRange> ranges =
                        remote.ranges(List.of(new WantedRange(SHUFFLE, entry, partition, partition + 1)));
                assertThat(ranges.get(0).slices())
                        .isEqualTo(each.output().range(partition, partition + 1).slices());
            }
        }
        assertThat(network.reads()).as("nothing is left to be read").isEqualTo(before);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 50})
    void peersAreAskedAtOnce(int count) throws Exception {
        List<RemoteDirectory> remotes = new ArrayList<>();
        List<CompletableFuture<Void>> begun = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            remotes.add(remote());
            begun.add(prefetch(remotes.get(i)));
        }
        int roundTrips = 0;
        while (network.isHolding()) {
            network.roundTrip();
            roundTrips++;
        }
        assertThat(begun).allSatisfy(each -> assertThat(each).isCompleted());
        assertThat(roundTrips).as("slot, entries, indexes").isEqualTo(3);
        assertThat(network.reads()).isEqualTo(3L * count);
        for (RemoteDirectory remote : remotes) {
            assertKnown(remote);
            assertThat(prefetch(remote)).as("nothing more to bring").isCompleted();
        }
    }

    /** Begun while the driver is asked for the map outputs, it leaves nothing to wait for but their bytes. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 50})
    void allOfAShuffleIsBroughtBeforeItsMapOutputsAreNamed(int count) throws Exception {
        List<RemoteDirectory> remotes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            RemoteDirectory remote = remote();
            remotes.add(remote);
            assertThat(remote.prefetchAll(SHUFFLE, Runnable::run)).isNotDone();
            assertThat(remote.prefetchAll(SHUFFLE, Runnable::run))
                    .as("begun before")
                    .isCompleted();
        }
        network.roundTrip();
        // A task that knows its map outputs waits for prefetches in flight.
        List<CompletableFuture<Void>> tasks =
                remotes.stream().map(this::prefetch).toList();
        network.roundTrip();
        network.roundTrip();
        assertThat(tasks).allSatisfy(each -> assertThat(each).isCompleted());
        assertThat(network.reads()).isEqualTo(3L * count);
        for (RemoteDirectory remote : remotes) {
            assertKnown(remote);
        }
    }

    /** Not all peers have some of a shuffle. */
    @Test
    void aPeerWithoutTheShuffleCostsOneRead() throws Exception {
        RemoteDirectory remote = remote();
        CompletableFuture<Void> begun = remote.prefetchAll(SHUFFLE + 1, Runnable::run);
        network.roundTrip();
        assertThat(begun).isCompleted();
        assertThat(network.isHolding()).isFalse();
        assertThat(network.reads()).isEqualTo(1);
        assertThat(remote.shuffleIds()).as("remembered").isEmpty();
        assertThat(peers.get(0).openRegions()).as("kept mapped").isZero();
    }

    @Test
    void prefetchUnderWayIsNotRepeated() throws Exception {
        RemoteDirectory remote = remote();
        CompletableFuture<Void> first = prefetch(remote);
        CompletableFuture<Void> second = prefetch(remote);
        network.roundTrip();
        network.roundTrip();
        CompletableFuture<Void> third = prefetch(remote);
        network.roundTrip();
        assertThat(List.of(first, second, third)).allMatch(CompletableFuture::isDone);
        assertThat(network.reads()).isEqualTo(3);
        assertKnown(remote);
    }

    /** A lookup of the same shuffle may wait for the thread that ends a prefetch. */
    @Test
    void aPrefetchDoesNotWaitForALookUp() throws Exception {
        RemoteDirectory remote = remote();
        CompletableFuture<Void> begun = prefetch(remote);
        CompletableFuture<DirectoryEntry> lookUp = CompletableFuture.supplyAsync(() -> {
            try {
                return remote.find(SHUFFLE, 0);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        eventually().until(() -> network.reads() >= 2);
        network.firstRoundTrip();
        assertThat(lookUp).as("its own read is held").isNotDone();
        while (!lookUp.isDone() || network.isHolding()) {
            network.roundTrip();
            Thread.sleep(1);
        }
        assertThat(lookUp).isCompletedWithValue(outputs.get(0).output().entry());
        assertThat(begun).isCompleted();
    }

    @Test
    void onlyWhatIsNewIsBrought() throws Exception {
        RemoteDirectory remote = remote();
        CompletableFuture<Void> first = prefetch(remote);
        while (network.isHolding()) {
            network.roundTrip();
        }
        assertThat(first).isCompleted();
        long indexes = cache.reads();
        publish(MAPS);
        CompletableFuture<Void> second = prefetch(remote);
        while (network.isHolding()) {
            network.roundTrip();
        }
        assertThat(second).isCompleted();
        assertThat(cache.reads()).as("one index more").isEqualTo(indexes + indexes / MAPS);
        assertKnown(remote);
    }

    @Test
    void failuresAreToldAndLaterAttemptsMade() throws Exception {
        RemoteDirectory remote = remote();
        for (int lost = 0; lost < 3; lost++) {
            CompletableFuture<Void> failed = prefetch(remote);
            for (int i = 0; i < lost && lost < 2; i++) {
                network.roundTrip();
            }
            network.fail(new ReadFailedException(Reason.PEER_GONE, "lost"));
            assertThat(failed)
                    .failsWithin(TIMEOUT)
                    .withThrowableThat()
                    .havingRootCause()
                    .isInstanceOf(ReadFailedException.class);
        }
        CompletableFuture<Void> last = prefetch(remote);
        while (network.isHolding()) {
            network.roundTrip();
        }
        assertThat(last).isCompleted();
        assertKnown(remote);
    }

    @Test
    void nothingIsWaitedFor() throws Exception {
        RemoteDirectory remote = remote();
        List<Lease> all = TestPools.fill(reader.pool());
        assertThat(prefetch(remote))
                .failsWithin(TIMEOUT)
                .withThrowableThat()
                .havingRootCause()
                .withMessageContaining("no receive lease");
        all.forEach(Lease::close);
        CompletableFuture<Void> next = prefetch(remote);
        while (network.isHolding()) {
            network.roundTrip();
        }
        assertThat(next).isCompleted();
        assertKnown(remote);
    }

    /** Whoever asks later must not wait for a read that was never begun. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void aFabricThatThrowsFailsTheAttemptOnly(int roundTrips) throws Exception {
        RemoteDirectory remote = remote();
        CompletableFuture<Void> attempt = null;
        for (int i = 0; i < roundTrips; i++) {
            attempt = attempt == null ? prefetch(remote) : attempt;
            network.broken(i == roundTrips - 1);
            network.roundTrip();
        }
        network.broken(true);
        attempt = attempt == null ? prefetch(remote) : attempt;
        assertThat(attempt)
                .failsWithin(TIMEOUT)
                .withThrowableThat()
                .havingRootCause()
                .withMessageContaining("broken");
        network.broken(false);
        CompletableFuture<Void> next = prefetch(remote);
        while (network.isHolding()) {
            network.roundTrip();
        }
        assertThat(next).isCompleted();
        assertKnown(remote);
    }

    /** What a prefetch brings of an earlier generation is not mixed with what came meanwhile. */
    @Test
    void aShuffleThatIsWrittenAgainMeanwhileIsReadAnew() throws Exception {
        RemoteDirectory remote = remote();
        CompletableFuture<Void> begun = prefetch(remote);
        network.roundTrip();
        directory.withdraw(SHUFFLE);
        outputs.forEach(each -> each.output().close());
        outputs.clear();
        publish(77);
        while (network.isHolding()) {
            network.roundTrip();
        }
        assertThat(begun).isDone();
        remote.outdated(SHUFFLE);
        CompletableFuture<Void> again = prefetch(remote);
        while (network.isHolding()) {
            network.roundTrip();
        }
        assertThat(again).isCompleted();
        assertKnown(remote);
        assertThat(remote.find(SHUFFLE, 77)).isNotNull();
    }
}
