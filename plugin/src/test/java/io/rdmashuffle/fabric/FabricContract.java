// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * What every fabric promises; each provider runs it by extending it.
 *
 * <p>Providers under test complete on {@link #threads} threads, which requests go round, so that as many listeners that
 * wait hold everything else up.
 */
@Tag("contract")
@Timeout(120)
@ExtendWith(LeakCheck.class)
public abstract class FabricContract {
    private static final long BYTES_IN_FLIGHT = 64 << 10;
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    protected final long seed = System.nanoTime();
    protected final Random random = new Random(seed);
    private final List<Lease> sources = new ArrayList<>();
    protected Node reader;
    protected Node owner;

    /** Creates a fabric of {@link #threads} completion threads with this bound. */
    protected abstract Fabric fabric(long maxBytesInFlight);

    /** Returns how many threads complete reads. */
    protected int threads() {
        return 1;
    }

    /** Returns whether {@link Peer#view} shows bytes where they lie. */
    protected abstract boolean inPlace();

    /** Returns whether a reader holds a peer's regions open. */
    protected boolean opensRegions() {
        return true;
    }

    @BeforeEach
    void openNodes() {
        System.out.println(getClass().getSimpleName() + " seed " + seed);
        reader = new Node(directory, fabric(BYTES_IN_FLIGHT));
        owner = new Node(directory, fabric(BYTES_IN_FLIGHT));
    }

    @AfterEach
    void closeNodes() {
        if (reader != null) {
            reader.close();
        }
        sources.forEach(Lease::close);
        if (owner != null) {
            owner.close();
        }
    }

    private Lease source(Node node, int bytes) throws InterruptedException {
        Lease lease = TestPools.filled(node.pool(), bytes, random);
        sources.add(lease);
        return lease;
    }

    protected static RemoteSlice slice(Lease lease, long offset, long length) {
        return new RemoteSlice(lease.region().id(), lease.offset() + offset, length);
    }

    private ReadRequest request(ReadRequest.Listener listener, RemoteSlice... slices) throws InterruptedException {
        return request(System.nanoTime() + LONG.toNanos(), listener, slices);
    }

    private ReadRequest request(long deadlineNanos, ReadRequest.Listener listener, RemoteSlice... slices)
            throws InterruptedException {
        long length =
                List.of(slices).stream().mapToLong(RemoteSlice::lengthBytes).sum();
        Lease target = TestPools.reserve(reader.pool(), Purpose.RECEIVE, length);
        return new ReadRequest(List.of(slices), target, deadlineNanos, listener);
    }

    private static void readAll(Peer peer, List<ReadRequest> requests) {
        requests.forEach(request -> assertThat(peer.read(request)).isTrue());
    }

    private static byte[] part(Lease lease, long offset, long length) {
        return TestPools.bytes(lease.memory().slice(offset, length));
    }

    private static byte[] arrived(ReadRequest request) {
        byte[] bytes = TestPools.bytes(request.target().memory().slice(0, request.lengthBytes()));
        request.target().close();
        return bytes;
    }

    @Test
    void bytesArriveAsTheyWere() throws Exception {
        Lease data = source(owner, 50_000);
        try (Peer peer = reader.connect(owner)) {
            Completions completions = new Completions();
            ReadRequest request = request(completions, slice(data, 123, 40_001));
            assertThat(peer.read(request)).isTrue();
            completions.await(List.of(request));
            assertThat(completions.succeededOne(request)).isTrue();
            assertThat(arrived(request)).isEqualTo(part(data, 123, 40_001));
        }
    }

    @Test
    void slicesOfSeveralRegionsAreGatheredInOrder() throws Exception {
        Lease first = source(owner, 100_000);
        Lease second = source(owner, 100_000);
        assertThat(first.region().id()).isNotEqualTo(second.region().id());
        try (Peer peer = reader.connect(owner)) {
            Completions completions = new Completions();
            ReadRequest request =
                    request(completions, slice(second, 7, 1), slice(first, 99_000, 1000), slice(second, 0, 3333));
            assertThat(peer.read(request)).isTrue();
            completions.await(List.of(request));
            ByteArrayOutputStream expected = new ByteArrayOutputStream();
            expected.writeBytes(part(second, 7, 1));
            expected.writeBytes(part(first, 99_000, 1000));
            expected.writeBytes(part(second, 0, 3333));
            assertThat(arrived(request)).isEqualTo(expected.toByteArray());
            assertThat(peer.openRegions()).isEqualTo(opensRegions() ? 2 : 0);
        }
    }

    @Test
    void everyRequestEndsOnceAndOnlyThoseOutOfBoundsFail() throws Exception {
        Lease data = source(owner, 60_000);
        try (Peer peer = reader.connect(owner)) {
            Completions completions = new Completions();
            List<ReadRequest> requests = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                long offset = i % 7 == 3 ? Node.REGION_BYTES - 100 : random.nextInt(59_000);
                requests.add(request(completions, new RemoteSlice(data.region().id(), offset, 501)));
            }
            readAll(peer, requests);
            completions.await(requests);
            for (int i = 0; i < requests.size(); i++) {
                ReadRequest request = requests.get(i);
                if (i % 7 == 3) {
                    assertThat(completions.reason(request)).isEqualTo(Reason.OUT_OF_BOUNDS);
                } else {
                    MemorySlice region = data.region().memory();
                    RemoteSlice asked = request.sources().get(0);
                    byte[] expected = TestPools.bytes(region.slice(asked.offset(), asked.lengthBytes()));
                    assertThat(arrived(request)).isEqualTo(expected);
                }
            }
        }
        // Targets of failed requests are back already, those of the others were closed above.
        assertThat(reader.pool().usage().leases()).isZero();
    }

    @Test
    void offsetsNearTheLargestNumberAreOutOfBounds() throws Exception {
        Lease data = source(owner, 100);
        try (Peer peer = reader.connect(owner)) {
            Completions completions = new Completions();
            ReadRequest request =
                    request(completions, new RemoteSlice(data.region().id(), Long.MAX_VALUE - 10, 100));
            assertThat(peer.read(request)).isTrue();
            completions.await(List.of(request));
            assertThat(completions.reason(request)).isEqualTo(Reason.OUT_OF_BOUNDS);
            assertThat(reader.pool().usage().leases()).isZero();
        }
    }

    @Test
    void expiredDeadlineFailsAndGivesTheTargetBack() throws Exception {
        Lease data = source(owner, 100);
        try (Peer peer = reader.connect(owner)) {
            Completions completions = new Completions();
            ReadRequest request = request(System.nanoTime() - 1, completions, slice(data, 0, 100));
            assertThat(peer.read(request)).isTrue();
            completions.await(List.of(request));
            assertThat(completions.reason(request)).isEqualTo(Reason.TIMED_OUT);
            assertThat(reader.pool().usage().leases()).isZero();
        }
    }

    @Test
    void closedPeerFailsWithClosed() throws Exception {
        Lease data = source(owner, 100);
        Peer peer = reader.connect(owner);
        peer.close();
        peer.close();
        Completions completions = new Completions();
        ReadRequest request = request(completions, slice(data, 0, 100));
        assertThat(peer.read(request)).isTrue();
        completions.await(List.of(request));
        assertThat(completions.reason(request)).isEqualTo(Reason.CLOSED);
        assertThat(peer.openRegions()).isZero();
    }

    @Test
    void closedFabricFailsWithClosed() throws Exception {
        Lease data = source(owner, 100);
        try (Peer peer = reader.connect(owner)) {
            reader.fabric().close();
            Completions completions = new Completions();
            ReadRequest request = request(completions, slice(data, 0, 100));
            assertThat(peer.read(request)).isTrue();
            completions.await(List.of(request));
            assertThat(completions.reason(request)).isEqualTo(Reason.CLOSED);
        }
    }

    @Test
    @SuppressWarnings("try")
    void peerThatWentAwayBeforeTheFirstReadIsGone() throws Exception {
        try (Node mortal = new Node(directory, fabric(BYTES_IN_FLIGHT));
                Peer peer = reader.connect(mortal)) {
            mortal.close();
            Completions completions = new Completions();
            ReadRequest request = request(completions, new RemoteSlice(0, 0, 64));
            assertThat(peer.read(request)).isTrue();
            completions.await(List.of(request));
            assertThat(completions.reason(request)).isEqualTo(Reason.PEER_GONE);
        }
    }

    @Test
    void regionsThatCameAfterTheConnectionAreReadable() throws Exception {
        try (Peer peer = reader.connect(owner)) {
            source(owner, 120_000);
            source(owner, 120_000);
            Lease late = source(owner, 120_000);
            assertThat(late.region().id()).isEqualTo(2);
            Completions completions = new Completions();
            ReadRequest request = request(completions, slice(late, 0, 120_000));
            assertThat(peer.read(request)).isTrue();
            completions.await(List.of(request));
            assertThat(arrived(request)).isEqualTo(part(late, 0, 120_000));
        }
    }

    @Test
    void tooManyBytesInFlightWaitUntilSomeHaveArrived() throws Exception {
        Lease data = source(owner, 64_000);
        Hold hold = new Hold(threads());
        try (Peer peer = reader.connect(owner)) {
            readAll(peer, oneForEachThread(data, hold));
            hold.awaitEntered();
            Completions completions = new Completions();
            ReadRequest second = request(completions, slice(data, 0, 60_000));
            ReadRequest third = request(completions, slice(data, 0, 60_000));
            assertThat(peer.read(second)).isTrue();
            assertThat(peer.read(third)).isFalse();
            assertThat(completions.ended()).isZero();
            hold.release();
            completions.await(List.of(second, third));
            assertThat(arrived(second)).isEqualTo(arrived(third));
        } finally {
            hold.release();
        }
    }

    private List<ReadRequest> oneForEachThread(Lease data, Hold hold) throws InterruptedException {
        List<ReadRequest> requests = new ArrayList<>();
        for (int i = 0; i < threads(); i++) {
            requests.add(request(hold, slice(data, 0, 64)));
        }
        return requests;
    }

    @Test
    void closingTheFabricEndsEverythingInFlightOnce() throws Exception {
        Lease data = source(owner, 64_000);
        Hold hold = new Hold(threads());
        try (Peer peer = reader.connect(owner)) {
            readAll(peer, oneForEachThread(data, hold));
            hold.awaitEntered();
            Completions completions = new Completions();
            List<ReadRequest> requests = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                requests.add(request(completions, slice(data, i, 1000)));
            }
            readAll(peer, requests);
            Thread closer = new Thread(reader.fabric()::close);
            closer.start();
            hold.release();
            completions.await(requests);
            closer.join();
            for (ReadRequest request : requests) {
                if (completions.succeededOne(request)) {
                    request.target().close();
                } else {
                    assertThat(completions.reason(request)).isEqualTo(Reason.CLOSED);
                }
            }
            assertThat(reader.pool().usage().leases()).isZero();
        } finally {
            hold.release();
        }
    }

    @Test
    @SuppressWarnings("try")
    void oneFailingPeerOfThreeDoesNotHurtTheOthers() throws Exception {
        try (Node other = new Node(directory, fabric(BYTES_IN_FLIGHT));
                Node mortal = new Node(directory, fabric(BYTES_IN_FLIGHT));
                Peer toOwner = reader.connect(owner);
                Peer toOther = reader.connect(other);
                Peer toMortal = reader.connect(mortal)) {
            Lease data = source(owner, 1000);
            mortal.close();
            try (Lease otherData = TestPools.filled(other.pool(), 1000, random)) {
                Completions completions = new Completions();
                ReadRequest bad = request(completions, new RemoteSlice(0, 0, 500));
                ReadRequest good = request(completions, slice(data, 0, 1000));
                ReadRequest alsoGood = request(completions, slice(otherData, 0, 1000));
                assertThat(toMortal.read(bad)).isTrue();
                assertThat(toOwner.read(good)).isTrue();
                assertThat(toOther.read(alsoGood)).isTrue();
                completions.await(List.of(bad, good, alsoGood));
                assertThat(completions.reason(bad)).isEqualTo(Reason.PEER_GONE);
                assertThat(arrived(good)).isEqualTo(part(data, 0, 1000));
                assertThat(arrived(alsoGood)).isEqualTo(part(otherData, 0, 1000));
            }
        }
    }

    @Test
    void wholeRegionsAreSeenWhereSlicesAre() throws Exception {
        Lease data = source(owner, 5000);
        try (Peer peer = reader.connect(owner)) {
            RemoteView region = peer.region(data.region().id());
            assertThat(region != null).isEqualTo(inPlace());
            if (region != null) {
                assertThat(region.bytes().lengthBytes())
                        .isEqualTo(data.region().memory().lengthBytes());
                assertThat(TestPools.bytes(region.bytes().slice(data.offset() + 10, 4000)))
                        .isEqualTo(part(data, 10, 4000));
                region.close();
                assertThatThrownBy(() -> peer.region(1 << 20)).isInstanceOf(ReadFailedException.class);
            }
        }
    }

    @Test
    void viewsStayValidAfterPeerFabricAndOwnerAreClosed() throws Exception {
        Lease data = source(owner, 5000);
        Peer peer = reader.connect(owner);
        RemoteView view = peer.view(slice(data, 10, 4000));
        assertThat(view != null).isEqualTo(inPlace());
        byte[] expected = part(data, 10, 4000);
        peer.close();
        if (view != null) {
            reader.fabric().close();
            assertThat(TestPools.bytes(view.bytes())).isEqualTo(expected);
            view.close();
            assertThatThrownBy(() -> peer.view(slice(data, 0, 1)))
                    .isInstanceOfSatisfying(
                            ReadFailedException.class,
                            e -> assertThat(e.reason()).isEqualTo(Reason.CLOSED));
        }
    }

    @Test
    void blockingReadsBringBytesAndGiveThemBack() throws Exception {
        Lease data = source(owner, 5000);
        try (Peer peer = reader.connect(owner);
                RemoteBytes bytes = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), LONG)
                        .read(peer, List.of(slice(data, 5, 100), slice(data, 1000, 3)))) {
            assertThat(TestPools.bytes(bytes.memory(0))).isEqualTo(part(data, 5, 100));
            assertThat(TestPools.bytes(bytes.memory(1))).isEqualTo(part(data, 1000, 3));
            assertThat(reader.pool().usage().leases()).isEqualTo(inPlace() ? 0 : 1);
        }
    }

    @Test
    void blockingReadOutOfBoundsFailsWithoutALeak() throws Exception {
        Lease data = source(owner, 100);
        try (Peer peer = reader.connect(owner)) {
            BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ZERO), LONG);
            assertThatThrownBy(() -> reads.read(peer, List.of(slice(data, 0, 9), slice(data, 1L << 40, 1))))
                    .isInstanceOfSatisfying(
                            ReadFailedException.class,
                            e -> assertThat(e.reason()).isEqualTo(Reason.OUT_OF_BOUNDS));
        }
        assertThat(reader.pool().usage().leases()).isZero();
    }

    @Test
    void addressesThatAreNoneAreRefusedWithAReason() {
        byte[] address = owner.fabric().localAddress();
        for (int length = 0; length < address.length; length++) {
            byte[] cut = Arrays.copyOf(address, length);
            assertThatThrownBy(() -> reader.fabric().connect("7", cut)).isInstanceOf(PeerUnreachableException.class);
        }
        for (int round = 0; round < 2000; round++) {
            byte[] damaged = address.clone();
            damaged[random.nextInt(damaged.length)] ^= (byte) (1 + random.nextInt(255));
            assertThatThrownBy(() -> reader.fabric().connect("7", damaged).close())
                    .as("seed %d round %d", seed, round)
                    .isInstanceOf(PeerUnreachableException.class);
        }
    }

    @Test
    void registrationsAreAsManyAsRegions() throws Exception {
        source(owner, 100_000);
        source(owner, 100_000);
        assertThat(owner.fabric().registrations())
                .isEqualTo(owner.pool().regions().size());
    }
}
