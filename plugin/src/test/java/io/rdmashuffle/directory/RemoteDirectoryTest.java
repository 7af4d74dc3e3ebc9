// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.CountingPeer;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
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

/** What a reader knows of a peer's shuffles, whichever way it reads. */
@Tag("unit")
@ParameterizedClass(name = "inPlace={0}")
@ValueSource(booleans = {true, false})
@Timeout(60)
@ExtendWith(LeakCheck.class)
class RemoteDirectoryTest {
    private static final int SHUFFLE = 6;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final DirectoryEntry FILE = DirectoryEntry.file(1, 3, 7);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private final boolean inPlace;
    private Node owner;
    private Node reader;
    private Peer peer;
    private CountingPeer counting;
    private MapOutputDirectory directory;
    private RemoteDirectory remote;

    RemoteDirectoryTest(boolean inPlace) {
        this.inPlace = inPlace;
    }

    @BeforeEach
    void open() throws Exception {
        owner = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        reader = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
        directory = MapOutputDirectory.create(owner.pool(), 16, UUID.randomUUID());
        peer = reader.connect(owner);
        counting = new CountingPeer(peer);
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), TIMEOUT), TIMEOUT);
        remote = new RemoteDirectory(counting.peer(), directory.location(), reads, new IndexCache(1 << 20));
        assertThat(directory.publish(SHUFFLE, FILE)).isTrue();
    }

    @AfterEach
    void close() {
        assertThat(reader.pool().usage().leases()).isZero();
        peer.close();
        directory.close();
        reader.close();
        owner.close();
    }

    @Test
    void copyOnlyPeerIsKnownAfterTheFirstTry() throws Exception {
        assertThat(remote.isCopied()).as("not tried").isFalse();
        assertThat(remote.isVisible()).isEqualTo(inPlace);
        assertThat(remote.isCopied()).isEqualTo(!inPlace);
    }

    @Test
    void shufflesAreKnownUntilTheyAreForgotten() throws Exception {
        assertThat(remote.knows(SHUFFLE)).isFalse();
        assertThat(remote.shuffleIds()).isEmpty();
        assertThat(remote.forget(SHUFFLE)).as("it was not known").isFalse();
        assertThat(remote.find(SHUFFLE, 1)).isEqualTo(FILE);
        assertThat(remote.find(SHUFFLE + 1, 1)).isNull();
        assertThat(remote.knows(SHUFFLE)).isTrue();
        assertThat(remote.shuffleIds()).containsExactlyInAnyOrder(SHUFFLE, SHUFFLE + 1);
        assertThat(remote.forget(SHUFFLE)).as("one is left").isFalse();
        assertThat(remote.forget(SHUFFLE + 1)).isTrue();
        assertThat(remote.knows(SHUFFLE)).isFalse();
        assertThat(remote.find(SHUFFLE, 1)).isEqualTo(FILE);
        remote.forget();
        assertThat(remote.shuffleIds()).isEmpty();
    }

    @Test
    void resultsAreCachedUntilTheyAreOutdated() throws Exception {
        long generation = Objects.requireNonNull(remote.locate(SHUFFLE, 1)).generation();
        counting.takeLooks();
        assertThat(remote.find(SHUFFLE, 1)).isEqualTo(FILE);
        remote.outdated(SHUFFLE, generation + 1);
        remote.outdated(SHUFFLE + 1, generation);
        remote.outdated(SHUFFLE + 1);
        assertThat(remote.find(SHUFFLE, 1)).isEqualTo(FILE);
        assertThat(counting.takeLooks()).isZero();
        remote.outdated(SHUFFLE, generation);
        assertThat(remote.find(SHUFFLE, 1)).isEqualTo(FILE);
        assertThat(counting.takeLooks()).isPositive();
        remote.outdated(SHUFFLE);
        assertThat(remote.find(SHUFFLE, 1)).isEqualTo(FILE);
        assertThat(counting.takeLooks()).isPositive();
    }

    @Test
    void aSlotIsWatchedWhereThePeersMemoryIsSeen() throws Exception {
        try (SlotWatch unknown = remote.watch(SHUFFLE, 1)) {
            assertThat(unknown == null).isEqualTo(!inPlace);
            assertThat(unknown == null || unknown.isCurrent())
                    .as("at home, where it was not looked for")
                    .isTrue();
        }
        long generation = Objects.requireNonNull(remote.locate(SHUFFLE, 1)).generation();
        try (SlotWatch watch = remote.watch(SHUFFLE, generation);
                SlotWatch other = remote.watch(SHUFFLE, generation + 1)) {
            assertThat(watch == null || watch.isCurrent()).isTrue();
            assertThat(other != null && other.isCurrent()).isFalse();
            directory.expire(SHUFFLE);
            assertThat(watch != null && watch.isCurrent()).isFalse();
        }
    }

    @Test
    void nothingIsPrefetchedThatIsKnown() throws Exception {
        assertThat(remote.find(SHUFFLE, 1)).isEqualTo(FILE);
        counting.takeLooks();
        assertThat(remote.prefetch(SHUFFLE, List.of(1L), 0, 1, Runnable::run)).isCompleted();
        assertThat(remote.prefetchAll(SHUFFLE, Runnable::run)).isCompleted();
        assertThat(counting.takeLooks()).isZero();
        assertThat(remote.prefetch(SHUFFLE, List.of(1L, 2L), 0, 1, Runnable::run))
                .succeedsWithin(TIMEOUT);
        assertThat(counting.takeLooks()).isPositive();
    }
}
