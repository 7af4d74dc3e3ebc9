// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
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
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Faults of peers and connections: each ends in the right bytes or a clear failure, and leaves nothing behind. */
@Tag("fault")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class TcpFaultTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofSeconds(2);
    private static final int BYTES = 100_000;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final Random random = new Random(7);
    private final List<Node> nodes = new ArrayList<>();
    private final List<Lease> leases = new ArrayList<>();
    private Node reader;

    @BeforeEach
    void open() {
        reader = node(TestTcp.fabric(8 << 20));
    }

    @AfterEach
    void close() {
        leases.forEach(Lease::close);
        nodes.forEach(Node::close);
    }

    private Node node(TcpFabric fabric) {
        Node node = new Node(directory, fabric);
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

    private byte[] read(Peer peer, Duration timeout, RemoteSlice... slices) throws Exception {
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ofSeconds(5)), timeout);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (RemoteBytes bytes = reads.read(peer, List.of(slices))) {
            for (int i = 0; i < slices.length; i++) {
                all.writeBytes(TestPools.bytes(bytes.memory(i)));
            }
        }
        return all.toByteArray();
    }

    private void assertReadable(Peer peer, Lease lease) throws Exception {
        assertThat(read(peer, LONG, all(lease)))
                .isEqualTo(TestPools.bytes(lease.memory().slice(0, BYTES)));
    }

    private ReadFailedException failure(Peer peer, RemoteSlice slice, Duration timeout) {
        ReadFailedException failure = catchThrowableOfType(ReadFailedException.class, () -> read(peer, timeout, slice));
        assertThat(failure).isNotNull();
        assertThat(reader.pool().usage().leases()).as("targets released").isZero();
        return failure;
    }

    private List<ReadRequest> requests(Lease lease, int count, Completions completions) throws InterruptedException {
        List<ReadRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(new ReadRequest(
                    List.of(new RemoteSlice(lease.region().id(), lease.offset() + i, 4000)),
                    TestPools.reserve(reader.pool(), Purpose.RECEIVE, 4000),
                    System.nanoTime() + LONG.toNanos(),
                    completions));
        }
        return requests;
    }

    @Test
    void killedPeerIsGoneAndOthersAreNot() throws Exception {
        Node owner = node(TestTcp.fabric(8 << 20));
        Lease lease = data(owner);
        try (TcpOwnerProcess mortal = TcpOwnerProcess.start(directory);
                Peer toMortal = reader.fabric().connect("mortal", mortal.address());
                Peer peer = reader.connect(owner)) {
            assertThat(read(toMortal, LONG, mortal.data())).isEqualTo(TcpOwnerProcess.expected());
            mortal.signal("STOP");
            CompletableFuture<ReadFailedException> failure =
                    CompletableFuture.supplyAsync(() -> failure(toMortal, mortal.data(), LONG));
            eventually().until(() -> reader.fabric().load().readsInFlight() == 1);
            mortal.kill();
            assertThat(failure.get(30, TimeUnit.SECONDS).reason()).isEqualTo(Reason.PEER_GONE);
            assertThat(failure(toMortal, mortal.data(), LONG).reason()).isEqualTo(Reason.PEER_GONE);
            assertReadable(peer, lease);
        }
    }

    @Test
    void silentPeerFailsTheReadAtItsDeadlineAndServesAgainLater() throws Exception {
        try (TcpOwnerProcess slow = TcpOwnerProcess.start(directory);
                Peer peer = reader.fabric().connect("slow", slow.address())) {
            assertThat(read(peer, LONG, slow.data())).isEqualTo(TcpOwnerProcess.expected());
            slow.signal("STOP");
            assertThat(failure(peer, slow.data(), SHORT).reason()).isEqualTo(Reason.TIMED_OUT);
            slow.signal("CONT");
            eventually()
                    .ignoreExceptions()
                    .untilAsserted(
                            () -> assertThat(read(peer, LONG, slow.data())).isEqualTo(TcpOwnerProcess.expected()));
        }
    }

    @Test
    void peerThatPausesForLessThanTheDeadlineFailsNoRead() throws Exception {
        try (TcpOwnerProcess slow = TcpOwnerProcess.start(directory);
                Peer peer = reader.fabric().connect("slow", slow.address())) {
            slow.signal("STOP");
            CompletableFuture<byte[]> bytes = CompletableFuture.supplyAsync(() -> {
                try {
                    return read(peer, LONG, slow.data());
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            eventually().until(() -> reader.fabric().load().readsInFlight() == 1);
            slow.signal("CONT");
            assertThat(bytes.get(60, TimeUnit.SECONDS)).isEqualTo(TcpOwnerProcess.expected());
        }
    }

    @Test
    void anotherProcessAtTheSameAddressIsNotMistakenForThePeer() throws Exception {
        Node owner = node(TestTcp.fabric(8 << 20));
        TcpAddress truth = TcpAddress.decode(owner.fabric().localAddress());
        byte[] stale = new TcpAddress(truth.fabricId() + 1, truth.host(), truth.port(), 0).encode();
        try (Peer peer = reader.fabric().connect("stale", stale)) {
            ReadFailedException failure = failure(peer, new RemoteSlice(0, 0, 64), LONG);
            assertThat(failure.reason()).isEqualTo(Reason.PEER_GONE);
            assertThat(failure).hasMessageContaining("another process");
        }
    }

    @Test
    void onlyPeersThatProveTheSecretMayRead() throws Exception {
        Secret right = Secret.of("the application's".getBytes(StandardCharsets.UTF_8));
        Secret wrong = Secret.of("another application's".getBytes(StandardCharsets.UTF_8));
        Node owner = node(new TcpFabric(TestTcp.settings(1, 8 << 20, right)));
        Lease lease = data(owner);
        Node open = reader;
        reader = node(new TcpFabric(TestTcp.settings(1, 8 << 20, right)));
        try (Peer peer = reader.connect(owner)) {
            assertReadable(peer, lease);
        }
        for (Node stranger : List.of(node(new TcpFabric(TestTcp.settings(1, 8 << 20, wrong))), open)) {
            reader = stranger;
            try (Peer peer = reader.connect(owner)) {
                ReadFailedException failure = failure(peer, all(lease), LONG);
                assertThat(failure.reason()).isEqualTo(Reason.TRANSPORT_ERROR);
                assertThat(failure).hasMessageContaining("spark.authenticate");
            }
        }
    }

    @Test
    void ownerWithoutTheSecretIsNotBelieved() throws Exception {
        Node impostor = reader;
        reader = node(new TcpFabric(TestTcp.settings(1, 8 << 20, Secret.of(new byte[] {1, 2, 3}))));
        try (Peer peer = reader.connect(impostor)) {
            assertThat(failure(peer, new RemoteSlice(0, 0, 64), LONG).reason()).isEqualTo(Reason.TRANSPORT_ERROR);
        }
    }

    @Test
    void readsInFlightWhenTheOwnerCutsTheConnectionAllEndOnce() throws Exception {
        Node owner = node(TestTcp.fabric(8 << 20));
        Lease lease = data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(peer, lease);
            for (int round = 0; round < 20; round++) {
                Completions completions = new Completions();
                List<ReadRequest> requests = requests(lease, 100, completions);
                requests.forEach(request -> assertThat(peer.read(request)).isTrue());
                owner.fabric().revoke(reader.fabric().localAddress());
                owner.fabric().admit(reader.fabric().localAddress());
                completions.await(requests);
                for (int i = 0; i < requests.size(); i++) {
                    if (completions.succeededOne(requests.get(i))) {
                        assertThat(TestPools.bytes(
                                        requests.get(i).target().memory().slice(0, 4000)))
                                .isEqualTo(TestPools.bytes(lease.memory().slice(i, 4000)));
                        requests.get(i).target().close();
                    }
                }
                assertThat(reader.pool().usage().leases()).isZero();
            }
        }
    }

    @Test
    void thousandsOfSlicesAreGatheredInOrder() throws Exception {
        Node owner = node(TestTcp.fabric(8 << 20));
        Lease lease = data(owner);
        RemoteSlice[] slices = new RemoteSlice[5000];
        for (int i = 0; i < slices.length; i++) {
            int length = i % 500 == 0 ? 20_000 : 1 + i % 100;
            int offset = random.nextInt(BYTES - length);
            slices[i] = new RemoteSlice(lease.region().id(), lease.offset() + offset, length);
        }
        try (Peer peer = reader.connect(owner)) {
            for (int from = 0; from < slices.length; from += 1250) {
                RemoteSlice[] part = Arrays.copyOfRange(slices, from, from + 1250);
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                for (RemoteSlice slice : part) {
                    bytes.writeBytes(TestPools.bytes(
                            lease.memory().slice(slice.offset() - lease.offset(), slice.lengthBytes())));
                }
                assertThat(read(peer, LONG, part)).isEqualTo(bytes.toByteArray());
            }
        }
    }

    @Test
    void releasedRegionIsAbsentAndUnknownOnesAreOutOfBounds() throws Exception {
        Node owner = node(TestTcp.fabric(8 << 20));
        Lease lease = data(owner);
        Lease second = data(owner);
        Region released = second.region();
        assertThat(released.id()).isNotEqualTo(lease.region().id());
        try (Peer peer = reader.connect(owner)) {
            assertReadable(peer, second);
            leases.remove(second);
            second.close();
            owner.fabric().regionRemoved(released);
            assertThat(failure(peer, all(second), LONG).reason()).isEqualTo(Reason.REGION_ABSENT);
            assertThat(failure(peer, new RemoteSlice(77, 0, 1), LONG).reason()).isEqualTo(Reason.OUT_OF_BOUNDS);
            assertReadable(peer, lease);
            owner.fabric().regionAdded(released);
        }
    }

    /** As behind a firewall: each attempt costs a task the whole timeout. */
    @Test
    void peerThatNeverAnswersIsNotTriedAgainSoon() throws Exception {
        Duration connectTimeout = Duration.ofSeconds(1);
        reader = readerWith(connectTimeout, Duration.ofMinutes(5));
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            silent.setSoTimeout(1);
            byte[] address = new TcpAddress(1, TestTcp.HOST, silent.getLocalPort(), 0).encode();
            try (Peer peer = reader.fabric().connect("silent", address)) {
                RemoteSlice slice = new RemoteSlice(0, 0, 1);
                assertThat(failure(peer, slice, LONG).reason()).isEqualTo(Reason.NOT_CONNECTED);
                long until = System.nanoTime() + connectTimeout.toNanos() / 2;
                while (System.nanoTime() - until < 0) {
                    assertThat(failure(peer, slice, LONG).reason()).isEqualTo(Reason.NOT_CONNECTED);
                }
                silent.accept().close();
                assertThatThrownBy(silent::accept).as("a second attempt").isInstanceOf(SocketTimeoutException.class);
            }
        }
    }

    private Node readerWith(Duration connectTimeout, Duration idleTimeout) {
        TcpSettings settings = TestTcp.settings(1, 8 << 20, Secret.NONE);
        return node(new TcpFabric(new TcpSettings(
                settings.host(),
                settings.ports(),
                1,
                connectTimeout,
                idleTimeout,
                settings.readTimeout(),
                8 << 20,
                Secret.NONE)));
    }

    @Test
    void idleConnectionIsClosedAndOpenedAgain() throws Exception {
        reader = readerWith(Duration.ofSeconds(30), Duration.ofMillis(300));
        Node owner = node(TestTcp.fabric(8 << 20));
        Lease lease = data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(peer, lease);
            assertThat(reader.fabric().load().connections()).isEqualTo(1);
            eventually().until(() -> reader.fabric().load().connections() == 0);
            assertReadable(peer, lease);
            assertThat(reader.fabric().load().connectionsOpened()).isEqualTo(2);
            assertThat(reader.fabric().load().connectionsLost()).isZero();
        }
    }
}
