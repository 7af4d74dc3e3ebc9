// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static io.rdmashuffle.fabric.ReadFixture.BYTES;
import static io.rdmashuffle.fabric.ReadFixture.LONG;
import static io.rdmashuffle.fabric.ReadFixture.all;
import static io.rdmashuffle.fabric.ReadFixture.assertReadable;
import static io.rdmashuffle.fabric.ReadFixture.assertReadableAgain;
import static io.rdmashuffle.fabric.ReadFixture.failure;
import static io.rdmashuffle.fabric.ReadFixture.read;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FaultContract;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.read.Connection;
import io.rdmashuffle.fabric.verbs.read.PeerReadChannel;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.TestPools;
import java.net.NetworkInterface;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Faults of peers, devices and links over RDMA. */
@Tag("rdma")
class VerbsFaultTest extends FaultContract {
    @Override
    protected Fabric fabric(Secret secret) {
        return TestVerbs.open(TestVerbs.settings(BYTES_IN_FLIGHT, List.of(), 1, secret));
    }

    @Override
    protected Class<?> ownerMain() {
        return VerbsOwner.class;
    }

    @Override
    protected byte[] ofAnotherProcess(byte[] address) throws Exception {
        VerbsAddress truth = VerbsAddress.decode(address);
        return new VerbsAddress(truth.fabricId() + 1, truth.rails()).encode();
    }

    @Override
    protected List<Reason> reasonsOfRefusal() {
        return List.of(Reason.TRANSPORT_ERROR, Reason.PEER_GONE);
    }

    @Override
    protected void assumeConnectionsBreak(Node owner) {
        assumeQueuePairsFail(owner);
    }

    @Override
    protected void breakConnection(Peer peer, Node owner) throws InterruptedException {
        onDataThread(channel(peer), () -> {
            Connection now = channel(peer).connection();
            if (now != null) {
                now.pair().fail();
            }
        });
    }

    private static void assumeQueuePairsFail(Node node) {
        Assumptions.assumeFalse(
                TestVerbs.isIwarp(node.fabric()), "siw completes nothing that is posted to a queue pair in error");
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
    void wrongRkeyReconnectsAndRetriesTheRead() throws Exception {
        Node owner = node();
        Lease lease = fixture.data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, lease);
            Connection before = connection(channel(peer));
            onDataThread(channel(peer), () -> channel(peer).regions().replace(forged(rail(owner), 0, 0x5a00)));
            assertReadable(reader, peer, lease);
            assertThat(channel(peer).connection()).as("a new connection").isNotSameAs(before);
        }
    }

    @Test
    void lengthThatThePeerNeverHadIsRefusedByItsDevice() throws Exception {
        Node owner = node();
        Lease lease = fixture.data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, lease);
            onDataThread(channel(peer), () -> channel(peer).regions().replace(forged(rail(owner), 1 << 20, 0)));
            RemoteSlice beyond = new RemoteSlice(0, Node.REGION_BYTES - 100, 4096);
            assertThat(failure(reader, peer, LONG, beyond).reason()).isEqualTo(Reason.OUT_OF_BOUNDS);
            assertReadable(reader, peer, lease);
        }
    }

    @Test
    void regionTakenAwayUnderAReaderFailsItAndNobodyElse() throws Exception {
        Node owner = node();
        Node other = node();
        Lease lease = fixture.data(owner);
        Lease otherLease = fixture.data(other);
        try (Peer peer = reader.connect(owner);
                Peer otherPeer = reader.connect(other)) {
            assertReadable(reader, peer, lease);
            rail(owner).registered(0).close();
            ReadFailedException failure = failure(reader, peer, LONG, all(lease));
            if (TestVerbs.isIwarp(owner.fabric())) {
                // There the owner's device ends the connection, and that comes first.
                assertThat(failure.reason()).isIn(Reason.TRANSPORT_ERROR, Reason.PEER_GONE);
            } else {
                assertThat(failure.reason()).isEqualTo(Reason.TRANSPORT_ERROR);
                assertThat(failure).hasMessageContaining("REMOTE_");
            }
            assertThat(failure).hasMessageContaining("executor peer");
            assertReadable(reader, otherPeer, otherLease);
        }
    }

    @Test
    void queuePairInErrorIsReplaced() throws Exception {
        Node owner = node();
        assumeQueuePairsFail(owner);
        Lease lease = fixture.data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, lease);
            for (int round = 0; round < 3; round++) {
                onDataThread(
                        channel(peer), () -> connection(channel(peer)).pair().fail());
                assertReadable(reader, peer, lease);
            }
        }
    }

    private static Fabric twoRails() {
        return TestVerbs.open(TestVerbs.settings(BYTES_IN_FLIGHT, TestVerbs.bothRails(), 1, Secret.NONE));
    }

    @Test
    void twoRailsShareReadsAndSurviveALoss() throws Exception {
        Node owner = fixture.node(twoRails());
        Node twoRailed = fixture.node(twoRails());
        Lease lease = fixture.data(owner);
        try (Peer peer = twoRailed.connect(owner)) {
            for (int i = 0; i < 4; i++) {
                assertReadable(twoRailed, peer, lease);
            }
            List<PeerReadChannel> channels = ((VerbsPeer) peer).channels();
            assertThat(channels)
                    .hasSize(2)
                    .allSatisfy(channel -> assertThat(channel.connection()).isNotNull());
            assertThat(channels.get(0).target().address().getAddress())
                    .isNotEqualTo(channels.get(1).target().address().getAddress());
            ((VerbsFabric) owner.fabric()).rails().get(1).registered(0).close();
            for (int i = 0; i < 4; i++) {
                assertReadable(twoRailed, peer, lease);
            }
        }
    }

    @Test
    void readsFailInTimeWhenTheLinkIsDown() throws Exception {
        Node owner = node();
        Lease lease = fixture.data(owner);
        LocalPort port = rail(owner).port();
        Assumptions.assumeTrue(port.device().startsWith("rxe"), "the device is not soft-RoCE's");
        String link = NetworkInterface.getByInetAddress(port.address()).getName();
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, lease);
            setLink(link, "down");
            try {
                assertThat(read(reader, peer, SHORT, all(lease)))
                        .isEqualTo(TestPools.bytes(lease.memory().slice(0, BYTES)));
            } catch (ReadFailedException e) {
                assertThat(e.reason())
                        .isIn(Reason.TIMED_OUT, Reason.NOT_CONNECTED, Reason.PEER_GONE, Reason.TRANSPORT_ERROR);
            } finally {
                setLink(link, "up");
            }
            assertThat(reader.pool().usage().leases()).as("released targets").isZero();
            assertReadableAgain(
                    reader,
                    peer,
                    LONG,
                    all(lease),
                    TestPools.bytes(lease.memory().slice(0, BYTES)));
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
