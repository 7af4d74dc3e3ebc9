// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static io.rdmashuffle.fabric.ReadFixture.BYTES;
import static io.rdmashuffle.fabric.ReadFixture.LONG;
import static io.rdmashuffle.fabric.ReadFixture.all;
import static io.rdmashuffle.fabric.ReadFixture.assertReadable;
import static io.rdmashuffle.fabric.ReadFixture.failure;
import static io.rdmashuffle.fabric.ReadFixture.read;
import static io.rdmashuffle.fabric.ReadFixture.slice;
import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.io.ByteArrayOutputStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * What every fabric that reads through a network does when peers, connections and files fail: each read ends in the
 * right bytes or a clear failure, in time, and leaves nothing behind. Each provider runs it by extending it.
 */
@Tag("contract")
@Tag("fault")
@Timeout(180)
@ExtendWith(LeakCheck.class)
public abstract class FaultContract {
    protected static final long BYTES_IN_FLIGHT = 8 << 20;
    /** Longer than a device retries without an answer. */
    protected static final Duration SHORT = Duration.ofSeconds(4);

    /** Requests under way when a connection breaks: more than a connection sends at once. */
    private static final int MANY = 200;

    private static final int REQUEST_BYTES = 4000;

    @TempDir(factory = ShmTempDirs.class)
    protected Path directory;

    @TempDir
    protected Path disk;

    protected ReadFixture fixture;
    protected Node reader;

    /** Creates a fabric with {@link #BYTES_IN_FLIGHT}. */
    protected abstract Fabric fabric(Secret secret);

    /** Returns the class whose main method calls {@link OwnerProcess#serve}. */
    protected abstract Class<?> ownerMain();

    /** Returns the address of a process that had the place of another. */
    protected abstract byte[] ofAnotherProcess(byte[] address) throws Exception;

    /** Returns the reasons with which a peer is refused that does not prove the secret. */
    protected abstract List<Reason> reasonsOfRefusal();

    /** Breaks the connection between a peer and its owner, if there is one, and lets it be opened again. */
    protected abstract void breakConnection(Peer peer, Node owner) throws Exception;

    /** Skips the test where reads in flight do not end with their connection. Called before any is in flight. */
    protected void assumeConnectionsBreak(Node owner) {}

    @BeforeEach
    void open() {
        fixture = new ReadFixture(directory);
        reader = node();
    }

    @AfterEach
    void close() {
        fixture.close();
    }

    protected Node node() {
        return fixture.node(fabric(Secret.NONE));
    }

    /** Starts an owner that can be killed. */
    protected OwnerProcess owner() throws Exception {
        return OwnerProcess.start(ownerMain(), directory, disk);
    }

    private static Secret secret(String text) {
        return Secret.of(text.getBytes(StandardCharsets.UTF_8));
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
            assertThat(failure(reader, toMortal, LONG, mortal.data()).reason()).isEqualTo(Reason.PEER_GONE);
            assertReadable(reader, peer, lease);
        }
    }

    @Test
    void stoppedPeerTimesOutAndServesAgainLater() throws Exception {
        try (OwnerProcess slow = owner();
                Peer peer = reader.fabric().connect("slow", slow.address())) {
            slow.signal("STOP");
            assertThat(failure(reader, peer, SHORT, slow.data()).reason()).isIn(Reason.TIMED_OUT, Reason.NOT_CONNECTED);
            slow.signal("CONT");
            assertThat(read(reader, peer, LONG, slow.data())).isEqualTo(OwnerProcess.content());
        }
    }

    @Test
    void processAtAReusedAddressIsNotThePeer() throws Exception {
        Node owner = node();
        byte[] stale = ofAnotherProcess(owner.fabric().localAddress());
        try (Peer peer = reader.fabric().connect("stale", stale)) {
            ReadFailedException failure = failure(reader, peer, LONG, new RemoteSlice(0, 0, 64));
            assertThat(failure.reason()).isEqualTo(Reason.PEER_GONE);
            assertThat(failure).hasMessageContaining("another process");
        }
    }

    @Test
    void onlyPeersThatProveTheSecretMayRead() throws Exception {
        Secret right = secret("the application's");
        Node owner = fixture.node(fabric(right));
        Lease lease = fixture.data(owner);
        Node friend = fixture.node(fabric(right));
        try (Peer peer = friend.connect(owner)) {
            assertReadable(friend, peer, lease);
        }
        Node stranger = fixture.node(fabric(secret("another application's")));
        for (Node refused : List.of(stranger, reader)) {
            try (Peer peer = refused.connect(owner)) {
                ReadFailedException failure = failure(refused, peer, LONG, all(lease));
                assertThat(failure.reason()).isIn(reasonsOfRefusal());
                assertThat(failure).hasMessageContaining("spark.authenticate");
            }
        }
    }

    @Test
    void readsInFlightWhenTheConnectionBreaksAllEndOnce() throws Exception {
        Node owner = node();
        assumeConnectionsBreak(owner);
        Lease lease = fixture.data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, lease);
            for (int round = 0; round < 10; round++) {
                Completions completions = new Completions();
                List<ReadRequest> requests = requests(lease, completions);
                requests.forEach(request -> assertThat(peer.read(request)).isTrue());
                breakConnection(peer, owner);
                completions.await(requests);
                for (int i = 0; i < requests.size(); i++) {
                    if (completions.succeededOne(requests.get(i))) {
                        Lease target = requests.get(i).target();
                        assertThat(TestPools.bytes(target.memory().slice(0, REQUEST_BYTES)))
                                .isEqualTo(TestPools.bytes(lease.memory().slice(i, REQUEST_BYTES)));
                        target.close();
                    }
                }
                assertThat(reader.pool().usage().leases()).isZero();
            }
        }
    }

    private List<ReadRequest> requests(Lease lease, ReadRequest.Listener listener) throws InterruptedException {
        List<ReadRequest> requests = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            requests.add(new ReadRequest(
                    List.of(slice(lease, i, REQUEST_BYTES)),
                    TestPools.reserve(reader.pool(), Purpose.RECEIVE, REQUEST_BYTES),
                    System.nanoTime() + LONG.toNanos(),
                    listener));
        }
        return requests;
    }

    @Test
    void bytesOnDiskAndInMemoryComeInOrder() throws Exception {
        byte[] content = OwnerProcess.content();
        Node owner = node();
        Lease inMemory = fixture.data(owner);
        Lease onDisk = fixture.serveDisk(owner, disk, content);
        try (Peer peer = reader.connect(owner)) {
            assertThat(peer.readsDisk()).isTrue();
            assertThat(read(reader, peer, LONG, all(onDisk))).isEqualTo(content);
            ByteArrayOutputStream expected = new ByteArrayOutputStream();
            List<RemoteSlice> slices = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                slices.add(slice(onDisk, i * 2000L, 1 + i));
                expected.write(content, i * 2000, 1 + i);
                if (i >= 20) {
                    slices.add(slice(inMemory, i, 10));
                    expected.writeBytes(TestPools.bytes(inMemory.memory().slice(i, 10)));
                }
            }
            slices.add(slice(onDisk, 7, 50_000));
            expected.write(content, 7, 50_000);
            slices.add(slice(inMemory, 0, 5000));
            expected.writeBytes(TestPools.bytes(inMemory.memory().slice(0, 5000)));
            assertThat(read(reader, peer, LONG, slices.toArray(RemoteSlice[]::new)))
                    .isEqualTo(expected.toByteArray());
            eventually().until(() -> owner.pool().usage().leases() == 1);
        }
    }

    @Test
    void truncatedFileFailsItsReadsAndNotThePath() throws Exception {
        byte[] content = OwnerProcess.content();
        Node owner = node();
        Lease onDisk = fixture.serveDisk(owner, disk, content);
        try (FileChannel file = FileChannel.open(onDisk.region().file(), StandardOpenOption.WRITE)) {
            file.truncate(onDisk.offset() + BYTES / 2);
        }
        try (Peer peer = reader.connect(owner)) {
            assertThat(failure(reader, peer, LONG, all(onDisk)).reason()).isEqualTo(Reason.UNREADABLE);
            assertThat(read(reader, peer, LONG, slice(onDisk, 0, BYTES / 2)))
                    .isEqualTo(Arrays.copyOf(content, BYTES / 2));
            RemoteSlice outside = new RemoteSlice(Region.FIRST_ON_DISK, 1L << 40, 10);
            assertThat(failure(reader, peer, LONG, outside).reason()).isEqualTo(Reason.UNREADABLE);
            eventually().until(() -> owner.pool().usage().leases() == 0);
        }
    }

    @Test
    void rangeOfAFileWithoutALeaseIsNotServed() throws Exception {
        Node owner = node();
        Lease onDisk = fixture.serveDisk(owner, disk, OwnerProcess.content());
        try (Peer peer = reader.connect(owner)) {
            fixture.release(onDisk);
            assertThat(failure(reader, peer, LONG, slice(onDisk, 0, 100)).reason())
                    .isEqualTo(Reason.UNREADABLE);
        }
    }
}
