// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static io.rdmashuffle.fabric.ReadFixture.BYTES;
import static io.rdmashuffle.fabric.ReadFixture.LONG;
import static io.rdmashuffle.fabric.ReadFixture.all;
import static io.rdmashuffle.fabric.ReadFixture.assertReadable;
import static io.rdmashuffle.fabric.ReadFixture.assertReadableAgain;
import static io.rdmashuffle.fabric.ReadFixture.failure;
import static io.rdmashuffle.fabric.ReadFixture.read;
import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FaultContract;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.OwnerProcess;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.TestPools;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Faults of peers and connections over TCP. */
class TcpFaultTest extends FaultContract {
    @Override
    protected Fabric fabric(Secret secret) {
        return new TcpFabric(TestTcp.settings(1, BYTES_IN_FLIGHT, secret));
    }

    @Override
    protected Class<?> ownerMain() {
        return TcpOwner.class;
    }

    @Override
    protected byte[] ofAnotherProcess(byte[] address) throws Exception {
        TcpAddress truth = TcpAddress.decode(address);
        return new TcpAddress(truth.fabricId() + 1, truth.host(), truth.port(), 0).encode();
    }

    @Override
    protected List<Reason> reasonsOfRefusal() {
        return List.of(Reason.TRANSPORT_ERROR);
    }

    @Override
    protected void breakConnection(Peer peer, Node owner) {
        owner.fabric().revoke(reader.fabric().localAddress());
        owner.fabric().admit(reader.fabric().localAddress());
    }

    @Test
    void readInFlightFailsWhenItsOwnerIsKilled() throws Exception {
        try (OwnerProcess mortal = owner();
                Peer peer = reader.fabric().connect("mortal", mortal.address())) {
            assertThat(read(reader, peer, LONG, mortal.data())).isEqualTo(OwnerProcess.content());
            mortal.signal("STOP");
            CompletableFuture<ReadFailedException> failure =
                    CompletableFuture.supplyAsync(() -> failure(reader, peer, LONG, mortal.data()));
            eventually().until(() -> reader.fabric().load().readsInFlight() == 1);
            mortal.kill();
            assertThat(failure.get(30, TimeUnit.SECONDS).reason()).isEqualTo(Reason.PEER_GONE);
        }
    }

    @Test
    void silentPeerTimesOutAndServesAgainLater() throws Exception {
        try (OwnerProcess slow = owner();
                Peer peer = reader.fabric().connect("slow", slow.address())) {
            assertThat(read(reader, peer, LONG, slow.data())).isEqualTo(OwnerProcess.content());
            slow.signal("STOP");
            assertThat(failure(reader, peer, SHORT, slow.data()).reason()).isEqualTo(Reason.TIMED_OUT);
            slow.signal("CONT");
            assertReadableAgain(reader, peer, SHORT, slow.data(), OwnerProcess.content());
        }
    }

    @Test
    void peerThatPausesForLessThanTheDeadlineFailsNoRead() throws Exception {
        try (OwnerProcess slow = owner();
                Peer peer = reader.fabric().connect("slow", slow.address())) {
            slow.signal("STOP");
            CompletableFuture<byte[]> bytes = CompletableFuture.supplyAsync(() -> {
                try {
                    return read(reader, peer, LONG, slow.data());
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            eventually().until(() -> reader.fabric().load().readsInFlight() == 1);
            slow.signal("CONT");
            assertThat(bytes.get(60, TimeUnit.SECONDS)).isEqualTo(OwnerProcess.content());
        }
    }

    @Test
    void ownerWithoutTheSecretIsNotBelieved() throws Exception {
        Node impostor = reader;
        reader = fixture.node(fabric(Secret.of(new byte[] {1, 2, 3})));
        try (Peer peer = reader.connect(impostor)) {
            assertThat(failure(reader, peer, LONG, new RemoteSlice(0, 0, 64)).reason())
                    .isEqualTo(Reason.TRANSPORT_ERROR);
        }
    }

    @Test
    void thousandsOfSlicesAreGatheredInOrder() throws Exception {
        Node owner = node();
        Lease lease = fixture.data(owner);
        Random random = new Random(7);
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
                assertThat(read(reader, peer, LONG, part)).isEqualTo(bytes.toByteArray());
            }
        }
    }

    @Test
    void releasedRegionIsAbsentAndUnknownOnesAreOutOfBounds() throws Exception {
        Node owner = node();
        Lease lease = fixture.data(owner);
        Lease second = fixture.data(owner);
        Region released = second.region();
        assertThat(released.id()).isNotEqualTo(lease.region().id());
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, second);
            fixture.release(second);
            owner.fabric().regionRemoved(released);
            assertThat(failure(reader, peer, LONG, all(second)).reason()).isEqualTo(Reason.REGION_ABSENT);
            assertThat(failure(reader, peer, LONG, new RemoteSlice(77, 0, 1)).reason())
                    .isEqualTo(Reason.OUT_OF_BOUNDS);
            assertReadable(reader, peer, lease);
            owner.fabric().regionAdded(released);
        }
    }

    /** A FIFO in the place of a file: open(2) blocks until a writer comes. */
    @Test
    void slowDiskDelaysNoReleaseOfMemory() throws Exception {
        Node owner = node();
        Lease onDisk = fixture.serveDisk(owner, disk, OwnerProcess.content());
        Region idle = owner.pool().regions().get(0);
        Path file = onDisk.region().file();
        Files.delete(file);
        assertThat(new ProcessBuilder("mkfifo", file.toString())
                        .inheritIO()
                        .start()
                        .waitFor())
                .isZero();
        try (Peer peer = reader.connect(owner)) {
            CompletableFuture<ReadFailedException> failure =
                    CompletableFuture.supplyAsync(() -> failure(reader, peer, LONG, all(onDisk)));
            eventually().until(TcpFaultTest::isServingThreadHeldUp);
            owner.fabric().regionRemoved(idle);
            owner.fabric().regionAdded(idle);
            FileChannel.open(file, StandardOpenOption.WRITE).close();
            assertThat(failure.get(60, TimeUnit.SECONDS).reason()).isEqualTo(Reason.UNREADABLE);
        }
    }

    private static boolean isServingThreadHeldUp() {
        return Thread.getAllStackTraces().values().stream()
                .flatMap(Arrays::stream)
                .anyMatch(frame -> frame.getClassName().equals(DiskFiles.class.getName())
                        && frame.getMethodName().equals("file"));
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
                assertThat(failure(reader, peer, LONG, slice).reason()).isEqualTo(Reason.NOT_CONNECTED);
                long until = System.nanoTime() + connectTimeout.toNanos() / 2;
                while (System.nanoTime() - until < 0) {
                    assertThat(failure(reader, peer, LONG, slice).reason()).isEqualTo(Reason.NOT_CONNECTED);
                }
                silent.accept().close();
                assertThatThrownBy(silent::accept).as("a second attempt").isInstanceOf(SocketTimeoutException.class);
            }
        }
    }

    private Node readerWith(Duration connectTimeout, Duration idleTimeout) {
        TcpSettings settings = TestTcp.settings(1, BYTES_IN_FLIGHT, Secret.NONE);
        return fixture.node(new TcpFabric(new TcpSettings(
                settings.host(),
                settings.ports(),
                1,
                connectTimeout,
                idleTimeout,
                settings.readTimeout(),
                BYTES_IN_FLIGHT,
                Secret.NONE)));
    }

    @Test
    void idleConnectionIsClosedAndOpenedAgain() throws Exception {
        reader = readerWith(Duration.ofSeconds(30), Duration.ofMillis(300));
        Node owner = node();
        Lease lease = fixture.data(owner);
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, lease);
            assertThat(reader.fabric().load().connections()).isEqualTo(1);
            eventually().until(() -> reader.fabric().load().connections() == 0);
            assertReadable(reader, peer, lease);
            assertThat(reader.fabric().load().connectionsOpened()).isEqualTo(2);
            assertThat(reader.fabric().load().connectionsLost()).isZero();
        }
    }
}
