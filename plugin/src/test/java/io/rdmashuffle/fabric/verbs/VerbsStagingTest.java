// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static io.rdmashuffle.fabric.ReadFixture.LONG;
import static io.rdmashuffle.fabric.ReadFixture.all;
import static io.rdmashuffle.fabric.ReadFixture.failure;
import static io.rdmashuffle.fabric.ReadFixture.read;
import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.OwnerProcess;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadFixture;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a peer stages of its disk tier: released afterwards, and only as much as there is room for. */
@Tag("rdma")
@Tag("fault")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class VerbsStagingTest {
    private static final Duration SHORT = Duration.ofSeconds(4);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @TempDir
    Path disk;

    private ReadFixture fixture;
    private Node reader;
    private Node owner;
    private byte[] content;
    private Lease onDisk;

    @BeforeEach
    void open() {
        fixture = new ReadFixture(directory);
        reader = fixture.node(TestVerbs.open(TestVerbs.settings(8 << 20)));
        owner = fixture.node(TestVerbs.open(TestVerbs.settings(8 << 20)));
        owner.pool().setAside(0, 64 << 10);
        content = OwnerProcess.content();
        onDisk = fixture.serveDisk(owner, disk, content);
    }

    @AfterEach
    void close() {
        fixture.close();
    }

    private void awaitNothingStaged(long otherLeases) {
        eventually().until(() -> owner.pool().usage().leases() == otherLeases);
    }

    @Test
    void ownerWithoutRoomIsAskedUntilThereIsSome() throws Exception {
        List<Lease> full = TestPools.fill(owner.pool());
        fixture.keep(full);
        List<Lease> rest = new ArrayList<>();
        for (Lease lease = take(); lease != null; lease = take()) {
            rest.add(lease);
        }
        assertThat(rest).as("memory reserved for staging").isNotEmpty();
        try (Peer peer = reader.connect(owner)) {
            assertThat(failure(reader, peer, SHORT, all(onDisk)).reason()).isEqualTo(Reason.NO_ROOM);
            CompletableFuture<byte[]> later = CompletableFuture.supplyAsync(() -> {
                try {
                    return read(reader, peer, LONG, all(onDisk));
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            rest.forEach(Lease::close);
            rest.clear();
            assertThat(later.get(LONG.toSeconds(), TimeUnit.SECONDS)).isEqualTo(content);
            awaitNothingStaged(full.size());
        } finally {
            rest.forEach(Lease::close);
        }
    }

    private @Nullable Lease take() throws InterruptedException {
        return owner.pool().reserve(Purpose.STAGING, 64, 64 << 10, Duration.ZERO);
    }

    @Test
    void ownerThatIsKilledWhileItStagesIsGone() throws Exception {
        try (OwnerProcess mortal = OwnerProcess.start(VerbsOwner.class, directory, disk);
                Peer toMortal = reader.fabric().connect("mortal", mortal.address());
                Peer peer = reader.connect(owner)) {
            assertThat(read(reader, toMortal, LONG, mortal.onDisk())).isEqualTo(OwnerProcess.content());
            mortal.signal("STOP");
            CompletableFuture<ReadFailedException> failure =
                    CompletableFuture.supplyAsync(() -> failure(reader, toMortal, LONG, mortal.onDisk()));
            while (reader.pool().usage().leases() == 0 && !failure.isDone()) {
                Thread.sleep(5);
            }
            mortal.kill();
            assertThat(failure.get(2 * LONG.toSeconds(), TimeUnit.SECONDS).reason())
                    .isIn(Reason.PEER_GONE, Reason.TRANSPORT_ERROR, Reason.TIMED_OUT);
            assertThat(read(reader, peer, LONG, all(onDisk))).isEqualTo(content);
        }
        assertThat(reader.pool().usage().leases()).isZero();
    }

    @Test
    void readerThatIsGoneLeavesNothingStaged() throws Exception {
        try (Peer peer = reader.connect(owner)) {
            for (int i = 0; i < 20; i++) {
                assertThat(read(reader, peer, LONG, all(onDisk))).isEqualTo(content);
            }
        }
        reader.close();
        awaitNothingStaged(0);
    }
}
