// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import static io.rdmashuffle.fabric.ReadFixture.LONG;
import static io.rdmashuffle.fabric.ReadFixture.assertReadable;
import static io.rdmashuffle.fabric.ReadFixture.assertReadableAgain;
import static io.rdmashuffle.fabric.ReadFixture.failure;
import static io.rdmashuffle.fabric.ReadFixture.read;
import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.fabric.Completions;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.OwnerProcess;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadFixture;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Faults of peers that are read through libfabric. */
@Tag("ofi")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class OfiFaultTest {
    private static final long BYTES_IN_FLIGHT = 8 << 20;
    private static final Duration SHORT = Duration.ofSeconds(4);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @TempDir
    Path disk;

    private ReadFixture fixture;
    private Node reader;

    @BeforeEach
    void open() {
        fixture = new ReadFixture(directory);
        reader = node();
    }

    @AfterEach
    void close() {
        fixture.close();
    }

    private Node node() {
        return fixture.node(TestOfi.fabric(BYTES_IN_FLIGHT));
    }

    private OwnerProcess owner() throws Exception {
        return OwnerProcess.start(OfiOwner.class, directory, disk);
    }

    @Test
    void killedPeerIsGoneAndTheOthersAreNot() throws Exception {
        Node owner = node();
        Lease lease = fixture.data(owner);
        try (OwnerProcess mortal = owner();
                Peer toMortal = reader.fabric().connect("mortal", mortal.address());
                Peer peer = reader.connect(owner)) {
            assertThat(read(reader, toMortal, LONG, mortal.data())).isEqualTo(OwnerProcess.content());
            mortal.kill();
            for (int device = 0; device < TestOfi.DEVICES; device++) {
                assertThat(failure(reader, toMortal, LONG, mortal.data()).reason())
                        .isEqualTo(Reason.PEER_GONE);
            }
            assertThat(toMortal.isReachable()).isFalse();
            assertReadable(reader, peer, lease);
        }
    }

    /** A device serves the reads of a process that is stopped; software does not. */
    @Test
    void stoppedPeerIsReadOrTimesOutAndServesAgainLater() throws Exception {
        try (OwnerProcess slow = owner();
                Peer peer = reader.fabric().connect("slow", slow.address())) {
            readOverEachDevice(peer, slow);
            slow.signal("STOP");
            if (TestOfi.READS_WITHOUT_OWNER) {
                readOverEachDevice(peer, slow);
                return;
            }
            Completions completions = new Completions();
            ReadRequest late = new ReadRequest(
                    List.of(slow.data()),
                    TestPools.reserve(reader.pool(), Purpose.RECEIVE, ReadFixture.BYTES),
                    System.nanoTime() + SHORT.toNanos(),
                    completions);
            assertThat(peer.read(late)).isTrue();
            completions.await(List.of(late));
            assertThat(completions.reason(late)).isEqualTo(Reason.TIMED_OUT);
            assertThat(reader.pool().usage().leases())
                    .as("the provider may still write")
                    .isEqualTo(1);
            slow.signal("CONT");
            eventually().until(() -> reader.pool().usage().leases() == 0);
            assertReadableAgain(reader, peer, LONG, slow.data(), OwnerProcess.content());
        }
    }

    private void readOverEachDevice(Peer peer, OwnerProcess owner) throws Exception {
        for (int device = 0; device < TestOfi.DEVICES; device++) {
            assertThat(read(reader, peer, LONG, owner.data())).isEqualTo(OwnerProcess.content());
        }
    }

    @Test
    void processAtAReusedAddressIsNotThePeer() throws Exception {
        Node owner = node();
        OfiAddress truth = OfiAddress.decode(owner.fabric().localAddress());
        byte[] stale = new OfiAddress(truth.fabricId() + 1, truth.provider(), truth.endpoints()).encode();
        try (Peer peer = reader.fabric().connect("stale", stale)) {
            ReadFailedException failure = failure(reader, peer, LONG, new RemoteSlice(0, 0, 64));
            assertThat(failure.reason()).isEqualTo(Reason.PEER_GONE);
            assertThat(failure).hasMessageContaining("another process");
        }
    }

    @Test
    void aReleasedRegionIsAbsent() throws Exception {
        assumeTrue(TestOfi.CHECKS_KEYS);
        Node owner = node();
        Lease lease = fixture.data(owner);
        Lease second = fixture.data(owner);
        Region released = second.region();
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, second);
            fixture.release(second);
            owner.fabric().regionRemoved(released);
            RemoteSlice slice = new RemoteSlice(released.id(), 0, 64);
            assertThat(failure(reader, peer, LONG, slice).reason()).isEqualTo(Reason.REGION_ABSENT);
            assertReadable(reader, peer, lease);
            owner.fabric().regionAdded(released);
        }
    }

    @Test
    void theDiskTierIsLeftToSpark() throws Exception {
        Node owner = node();
        Lease onDisk = fixture.serveDisk(owner, disk, OwnerProcess.content());
        try (Peer peer = reader.connect(owner)) {
            assertThat(peer.readsDisk()).isFalse();
            assertThat(failure(reader, peer, LONG, ReadFixture.all(onDisk)).reason())
                    .isEqualTo(Reason.UNREADABLE);
        }
    }
}
