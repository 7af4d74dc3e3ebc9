// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Completions;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.read.Connection;
import io.rdmashuffle.fabric.verbs.read.PeerReadChannel;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * What goes wrong with a real device: each ends in the right bytes or a clear failure, in time, and leaves nothing
 * behind.
 */
@Tag("rdma")
@Tag("fault")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class VerbsFaultTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofSeconds(4);
    private static final int BYTES = 100_000;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final Random random = new Random(7);
    private final List<Node> nodes = new ArrayList<>();
    private final List<Lease> leases = new ArrayList<>();
    private Node reader;

    @BeforeEach
    void open() {
        reader = node(TestVerbs.settings(8 << 20));
    }

    @AfterEach
    void close() {
        leases.forEach(Lease::close);
        nodes.forEach(Node::close);
    }

    private Node node(VerbsSettings settings) {
        Node node = new Node(directory, TestVerbs.open(settings));
        nodes.add(node);
        return node;
    }

    private Lease data(Node node) throws InterruptedException {
        Lease lease = TestPools.filled(node.pool(), BYTES, random);
        leases.add(lease);
        return lease;
    }

    private static RemoteSlice all(Lease lease) {
        return new RemoteSlice(lease.region().id(), lease.offset(), BYTES);
    }

    private byte[] read(Peer peer, RemoteSlice slice, Duration timeout) throws Exception {
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ofSeconds(5)), timeout);
        try (RemoteBytes bytes = reads.read(peer, List.of(slice))) {
            return TestPools.bytes(bytes.memory(0));
        }
    }

    private void assertReadable(Peer peer, Lease lease) throws Exception {
        assertThat(read(peer, all(lease), TIMEOUT))
                .isEqualTo(TestPools.bytes(lease.memory().slice(0, BYTES)));
    }

    private ReadFailedException failure(Peer peer, RemoteSlice slice, Duration timeout) {
        ReadFailedException failure = catchThrowableOfType(ReadFailedException.class, () -> read(peer, slice, timeout));
        assertThat(failure).isNotNull();
        assertThat(reader.pool().usage().leases()).as("targets given back").isZero();
        return failure;
    }

    private static PeerReadChannel channel(Peer peer) {
        return ((VerbsPeer) peer).channels().get(0);
    }

    private static Rail rail(Node node) {
        return ((VerbsFabric) node.fabric()).rails().get(0);
    }

    /** Runs something on the data thread of a channel and waits for it. */
    private static void onDataThread(PeerReadChannel channel, Runnable action) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        channel.execute(() -> {
            action.run();
            done.countDown();
        });
        assertThat(done.await(30, TimeUnit.SECONDS)).isTrue();
    }

    private static Connection connection(PeerReadChannel channel) {
        Connection connection = channel.connection();
        if (connection == null) {
            throw new AssertionError("not connected");
        }
        return connection;
    }

    /** Replaces what a channel knows of its peer's first region. */
    private static RegionTable forged(Rail owner, long moreBytes, int otherKey) {
        RegionTable truth = owner.table();
        return RegionTable.EMPTY.with(0, truth.address(0), truth.lengthBytes(0) + moreBytes, truth.key(0) ^ otherKey);
    }

    @Test
    void wrongKeyEndsTheConnectionAndTheReadStartsAgainWithTheRightOne() throws Exception {
        Node owner = node(TestVerbs.settings(8 << 20));
        Lease lease = data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(peer, lease);
            Connection before = connection(channel(peer));
            onDataThread(channel(peer), () -> channel(peer).regions().replace(forged(rail(owner), 0, 0x5a00)));
            assertReadable(peer, lease);
            assertThat(channel(peer).connection()).as("a new connection").isNotSameAs(before);
        }
    }

    @Test
    void lengthThatThePeerNeverHadIsRefusedByItsDevice() throws Exception {
        Node owner = node(TestVerbs.settings(8 << 20));
        Lease lease = data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(peer, lease);
            onDataThread(channel(peer), () -> channel(peer).regions().replace(forged(rail(owner), 1 << 20, 0)));
            RemoteSlice beyond = new RemoteSlice(0, Node.REGION_BYTES - 100, 4096);
            assertThat(failure(peer, beyond, TIMEOUT).reason()).isEqualTo(Reason.OUT_OF_BOUNDS);
            assertReadable(peer, lease);
        }
    }

    @Test
    void regionTakenAwayUnderAReaderFailsItAndNobodyElse() throws Exception {
        Node owner = node(TestVerbs.settings(8 << 20));
        Node other = node(TestVerbs.settings(8 << 20));
        Lease lease = data(owner);
        Lease otherLease = data(other);
        try (Peer peer = reader.connect(owner);
                Peer otherPeer = reader.connect(other)) {
            assertReadable(peer, lease);
            rail(owner).registered(0).close();
            ReadFailedException failure = failure(peer, all(lease), TIMEOUT);
            if (TestVerbs.isIwarp(owner.fabric())) {
                // There the owner's device ends the connection, and that comes first.
                assertThat(failure.reason()).isIn(Reason.TRANSPORT_ERROR, Reason.PEER_GONE);
            } else {
                assertThat(failure.reason()).isEqualTo(Reason.TRANSPORT_ERROR);
                assertThat(failure).hasMessageContaining("REMOTE_");
            }
            assertThat(failure).hasMessageContaining("executor peer");
            assertReadable(otherPeer, otherLease);
        }
    }

    @Test
    void queuePairInErrorIsReplaced() throws Exception {
        Node owner = node(TestVerbs.settings(8 << 20));
        Assumptions.assumeFalse(
                TestVerbs.isIwarp(owner.fabric()), "siw completes nothing that is posted to a queue pair in error");
        Lease lease = data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(peer, lease);
            for (int round = 0; round < 3; round++) {
                onDataThread(
                        channel(peer), () -> connection(channel(peer)).pair().fail());
                assertReadable(peer, lease);
            }
        }
    }

    @Test
    void readsInFlightWhenTheQueuePairFailsAllEndOnce() throws Exception {
        Node owner = node(TestVerbs.settings(8 << 20));
        Lease lease = data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(peer, lease);
            Completions completions = new Completions();
            List<ReadRequest> requests = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                RemoteSlice slice = new RemoteSlice(lease.region().id(), lease.offset() + i, 4000);
                requests.add(new ReadRequest(
                        List.of(slice),
                        TestPools.reserve(reader.pool(), Purpose.RECEIVE, slice.lengthBytes()),
                        System.nanoTime() + TIMEOUT.toNanos(),
                        completions));
            }
            requests.forEach(request -> assertThat(peer.read(request)).isTrue());
            onDataThread(channel(peer), () -> {
                Connection now = channel(peer).connection();
                if (now != null) {
                    now.pair().fail();
                }
            });
            completions.await(requests);
            for (int i = 0; i < requests.size(); i++) {
                if (completions.succeededOne(requests.get(i))) {
                    assertThat(TestPools.bytes(requests.get(i).target().memory().slice(0, 4000)))
                            .isEqualTo(TestPools.bytes(lease.memory().slice(i, 4000)));
                    requests.get(i).target().close();
                }
            }
            assertThat(reader.pool().usage().leases()).isZero();
        }
    }

    @Test
    void killedPeerIsGoneAndTheOthersAreNot() throws Exception {
        Node owner = node(TestVerbs.settings(8 << 20));
        Lease lease = data(owner);
        try (PeerProcess mortal = PeerProcess.start(directory);
                Peer toMortal = reader.fabric().connect("mortal", mortal.address());
                Peer peer = reader.connect(owner)) {
            assertThat(read(toMortal, mortal.data(), TIMEOUT)).isEqualTo(PeerProcess.expected());
            mortal.kill();
            assertThat(failure(toMortal, mortal.data(), TIMEOUT).reason()).isEqualTo(Reason.PEER_GONE);
            assertReadable(peer, lease);
        }
    }

    @Test
    void peerThatStandsStillFailsTheReadAtItsDeadlineAndServesAgainLater() throws Exception {
        try (PeerProcess slow = PeerProcess.start(directory);
                Peer peer = reader.fabric().connect("slow", slow.address())) {
            slow.signal("STOP");
            assertThat(failure(peer, slow.data(), SHORT).reason()).isIn(Reason.TIMED_OUT, Reason.NOT_CONNECTED);
            slow.signal("CONT");
            assertThat(read(peer, slow.data(), TIMEOUT)).isEqualTo(PeerProcess.expected());
        }
    }

    @Test
    void anotherProcessAtTheSameAddressIsNotMistakenForThePeer() throws Exception {
        Node owner = node(TestVerbs.settings(8 << 20));
        VerbsAddress truth = VerbsAddress.decode(owner.fabric().localAddress());
        byte[] stale = new VerbsAddress(truth.fabricId() + 1, truth.rails()).encode();
        try (Peer peer = reader.fabric().connect("stale", stale)) {
            ReadFailedException failure = failure(peer, new RemoteSlice(0, 0, 64), TIMEOUT);
            assertThat(failure.reason()).isEqualTo(Reason.PEER_GONE);
            assertThat(failure).hasMessageContaining("another process");
        }
    }

    @Test
    void onlyPeersThatProveTheSecretMayRead() throws Exception {
        Optional<byte[]> right = Optional.of("the application's".getBytes(StandardCharsets.UTF_8));
        Optional<byte[]> wrong = Optional.of("another application's".getBytes(StandardCharsets.UTF_8));
        Node owner = node(TestVerbs.settings(8 << 20, List.of(), 1, right));
        Node friend = node(TestVerbs.settings(8 << 20, List.of(), 1, right));
        Node stranger = node(TestVerbs.settings(8 << 20, List.of(), 1, wrong));
        Lease lease = data(owner);
        BlockingReads reads = new BlockingReads(new ReceiveLeases(friend.pool(), Duration.ZERO), TIMEOUT);
        try (Peer peer = friend.connect(owner);
                RemoteBytes bytes = reads.read(peer, List.of(all(lease)))) {
            assertThat(TestPools.bytes(bytes.memory(0)))
                    .isEqualTo(TestPools.bytes(lease.memory().slice(0, BYTES)));
        }
        for (Node refused : List.of(stranger, reader)) {
            BlockingReads others = new BlockingReads(new ReceiveLeases(refused.pool(), Duration.ZERO), TIMEOUT);
            try (Peer peer = refused.connect(owner)) {
                assertThat(catchThrowableOfType(
                                ReadFailedException.class, () -> others.read(peer, List.of(all(lease)))))
                        .hasMessageContaining("spark.authenticate");
            }
        }
    }

    @Test
    void twoRailsShareTheReadsAndOneServesWhenTheOtherIsLost() throws Exception {
        Node owner = node(TestVerbs.settings(8 << 20, TestVerbs.bothRails(), 1, Optional.empty()));
        Node twoRailed = node(TestVerbs.settings(8 << 20, TestVerbs.bothRails(), 1, Optional.empty()));
        Lease lease = data(owner);
        BlockingReads reads = new BlockingReads(new ReceiveLeases(twoRailed.pool(), Duration.ZERO), TIMEOUT);
        try (Peer peer = twoRailed.connect(owner)) {
            byte[] expected = TestPools.bytes(lease.memory().slice(0, BYTES));
            for (int i = 0; i < 4; i++) {
                try (RemoteBytes bytes = reads.read(peer, List.of(all(lease)))) {
                    assertThat(TestPools.bytes(bytes.memory(0))).isEqualTo(expected);
                }
            }
            List<PeerReadChannel> channels = ((VerbsPeer) peer).channels();
            assertThat(channels)
                    .hasSize(2)
                    .allSatisfy(channel -> assertThat(channel.connection()).isNotNull());
            assertThat(channels.get(0).target().address().getAddress())
                    .isNotEqualTo(channels.get(1).target().address().getAddress());
            ((VerbsFabric) owner.fabric()).rails().get(1).registered(0).close();
            for (int i = 0; i < 4; i++) {
                try (RemoteBytes bytes = reads.read(peer, List.of(all(lease)))) {
                    assertThat(TestPools.bytes(bytes.memory(0))).isEqualTo(expected);
                }
            }
        }
    }

    @Test
    void linkThatGoesDownFailsReadsInTimeOrNotAtAllAndWorksWhenItIsUpAgain() throws Exception {
        Node owner = node(TestVerbs.settings(8 << 20));
        Lease lease = data(owner);
        LocalPort port = rail(owner).port();
        Assumptions.assumeTrue(port.device().startsWith("rxe"), "the device is not soft-RoCE's");
        String link = NetworkInterface.getByInetAddress(port.address()).getName();
        try (Peer peer = reader.connect(owner)) {
            assertReadable(peer, lease);
            setLink(link, "down");
            try {
                assertThat(read(peer, all(lease), SHORT))
                        .isEqualTo(TestPools.bytes(lease.memory().slice(0, BYTES)));
            } catch (ReadFailedException e) {
                assertThat(e.reason())
                        .isIn(Reason.TIMED_OUT, Reason.NOT_CONNECTED, Reason.PEER_GONE, Reason.TRANSPORT_ERROR);
            } finally {
                setLink(link, "up");
            }
            assertThat(reader.pool().usage().leases()).as("targets given back").isZero();
            assertReadableSoon(peer, lease);
        }
    }

    private void assertReadableSoon(Peer peer, Lease lease) throws Exception {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (true) {
            try {
                assertReadable(peer, lease);
                return;
            } catch (ReadFailedException e) {
                if (System.nanoTime() - deadline >= 0) {
                    throw e;
                }
                Thread.sleep(200);
            }
        }
    }

    private static void setLink(String name, String state) throws Exception {
        int exit = new ProcessBuilder("ip", "link", "set", name, state)
                .inheritIO()
                .start()
                .waitFor();
        assertThat(exit).as("ip link set %s %s", name, state).isZero();
    }
}
