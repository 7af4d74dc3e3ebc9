// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An entry that its owner changes while readers know it, read in place and by copies. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class RelocatedOutputTest {
    private static final int SHUFFLE = 5;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final DirectoryEntry IN_MEMORY = entry(42, 1);
    private static final DirectoryEntry ON_DISK = entry(42, Region.FIRST_ON_DISK);
    private static final DirectoryEntry NEIGHBOUR = entry(43, 1);

    @TempDir(factory = ShmTempDirs.class)
    Path path;

    private static DirectoryEntry entry(long mapId, int region) {
        return new DirectoryEntry(mapId, Place.POOL, 9, region, 1, 640, 3, 1 << 20, 12345);
    }

    /** What a reader does with a directory in which both outputs are published. */
    @FunctionalInterface
    private interface Scenario {
        void run(MapOutputDirectory directory, RemoteDirectory remote) throws Exception;
    }

    private void with(boolean inPlace, Duration trust, Scenario scenario) throws Exception {
        try (Node owner = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
                Node reader = new Node(path, new ShmFabric(1, 1 << 20, inPlace));
                MapOutputDirectory directory = MapOutputDirectory.create(owner.pool(), 16, UUID.randomUUID());
                Peer peer = reader.connect(owner)) {
            BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), TIMEOUT), TIMEOUT);
            DirectoryLocation location =
                    DirectoryLocation.decode(directory.location().encode());
            assertThat(directory.publish(SHUFFLE, IN_MEMORY)).isTrue();
            assertThat(directory.publish(SHUFFLE, NEIGHBOUR)).isTrue();
            scenario.run(
                    directory, new RemoteDirectory(peer, location, reads, new IndexCache(1 << 20), TIMEOUT, trust));
        }
    }

    private static Located located(RemoteDirectory remote, long mapId) throws Exception {
        return Objects.requireNonNull(remote.locate(SHUFFLE, mapId));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void readersFollowWhenTheirTrustIsOver(boolean inPlace) throws Exception {
        with(inPlace, Duration.ZERO, (directory, remote) -> {
            long generation = located(remote, 42).generation();
            assertThat(located(remote, 42).entry()).isEqualTo(IN_MEMORY);

            directory.relocate(SHUFFLE, ON_DISK);

            assertThat(located(remote, 42)).isEqualTo(new Located(ON_DISK, generation));
            assertThat(located(remote, 43).entry()).isEqualTo(NEIGHBOUR);
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void untilThenTheyGoOnWhereItWas(boolean inPlace) throws Exception {
        with(inPlace, RemoteDirectory.TRUST, (directory, remote) -> {
            Located before = located(remote, 42);
            directory.relocate(SHUFFLE, ON_DISK);
            assertThat(located(remote, 42)).isEqualTo(before);

            // What a reader does that finds its read outdated.
            remote.outdated(SHUFFLE, before.generation());
            assertThat(located(remote, 42).entry()).isEqualTo(ON_DISK);
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void freedSpaceHasANewGeneration(boolean inPlace) throws Exception {
        with(inPlace, Duration.ZERO, (directory, remote) -> {
            long generation = located(remote, 42).generation();
            directory.relocate(SHUFFLE, ON_DISK);
            directory.expire(SHUFFLE);

            assertThat(located(remote, 42).entry()).isEqualTo(ON_DISK);
            assertThat(located(remote, 42).generation()).isNotEqualTo(generation);
            assertThat(located(remote, 43).entry()).isEqualTo(NEIGHBOUR);
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void nothingIsLedToAnOutputThatIsNotPublished(boolean inPlace) throws Exception {
        with(inPlace, Duration.ZERO, (directory, remote) -> {
            directory.relocate(SHUFFLE, entry(44, Region.FIRST_ON_DISK));
            directory.relocate(SHUFFLE + 1, ON_DISK);
            assertThat(remote.locate(SHUFFLE, 44)).isNull();
            assertThat(remote.locate(SHUFFLE + 1, 42)).isNull();
        });
    }
}
