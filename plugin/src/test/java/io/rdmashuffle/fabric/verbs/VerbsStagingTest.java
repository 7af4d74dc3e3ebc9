// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.ByteArrayOutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
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

/** Reads of a peer's disk tier over a device: the right bytes, or a failure that says whose fault it is. */
@Tag("rdma")
@Tag("fault")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class VerbsStagingTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofSeconds(4);
    private static final int BYTES = 100_000;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @TempDir
    Path disk;

    private final List<Lease> leases = new ArrayList<>();
    private Node reader;
    private Node owner;
    private DiskTier tier;
    private byte[] content;
    private Lease onDisk;

    @BeforeEach
    void open() {
        reader = new Node(directory, TestVerbs.open(TestVerbs.settings(8 << 20)));
        owner = new Node(directory, TestVerbs.open(TestVerbs.settings(8 << 20)));
        owner.pool().setAside(0, 64 << 10);
        tier = TestPools.diskTierOf(3, disk);
        TieredPool both = new TieredPool(owner.pool(), tier);
        owner.fabric().serve(both);
        content = new byte[BYTES];
        new Random(5).nextBytes(content);
        onDisk = TestPools.filledOnDisk(both, content);
        leases.add(onDisk);
    }

    @AfterEach
    void close() {
        if (reader != null) {
            reader.close();
        }
        if (owner != null) {
            owner.fabric().close();
            leases.forEach(Lease::close);
            assertThat(owner.pool().usage().leases()).as("leases for staging").isZero();
            owner.close();
        }
        if (tier != null) {
            tier.close();
        }
    }

    private static RemoteSlice slice(Lease lease, long offset, long length) {
        return new RemoteSlice(lease.region().id(), lease.offset() + offset, length);
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

    private ReadFailedException failure(Peer peer, Duration timeout, RemoteSlice slice) {
        ReadFailedException failure = catchThrowableOfType(ReadFailedException.class, () -> read(peer, timeout, slice));
        assertThat(failure).isNotNull();
        assertThat(reader.pool().usage().leases()).as("targets given back").isZero();
        return failure;
    }

    private void awaitNothingStaged(long otherLeases) {
        eventually().until(() -> owner.pool().usage().leases() == otherLeases);
    }

    @Test
    void bytesOnDiskAndInMemoryComeInOrderAndWhatWasStagedIsReleased() throws Exception {
        Lease inMemory = TestPools.filled(owner.pool(), 5000, new Random(1));
        leases.add(inMemory);
        try (Peer peer = reader.connect(owner)) {
            assertThat(peer.readsDisk()).isTrue();
            assertThat(read(peer, TIMEOUT, slice(onDisk, 0, BYTES))).isEqualTo(content);
            ByteArrayOutputStream expected = new ByteArrayOutputStream();
            List<RemoteSlice> slices = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                slices.add(slice(onDisk, i * 2000L, 1 + i));
                expected.write(content, i * 2000, 1 + i);
            }
            slices.add(slice(inMemory, 0, 5000));
            expected.writeBytes(TestPools.bytes(inMemory.memory().slice(0, 5000)));
            slices.add(slice(onDisk, 7, 30_000));
            expected.write(content, 7, 30_000);
            assertThat(read(peer, TIMEOUT, slices.toArray(RemoteSlice[]::new))).isEqualTo(expected.toByteArray());
            awaitNothingStaged(1);
        }
    }

    @Test
    void truncatedFileFailsItsReadsAndNotThePath() throws Exception {
        try (FileChannel file = FileChannel.open(onDisk.region().file(), StandardOpenOption.WRITE)) {
            file.truncate(onDisk.offset() + 50_000);
        }
        try (Peer peer = reader.connect(owner)) {
            ReadFailedException failure = failure(peer, TIMEOUT, slice(onDisk, 0, BYTES));
            assertThat(failure.reason()).isEqualTo(Reason.UNREADABLE);
            assertThat(read(peer, TIMEOUT, slice(onDisk, 0, 50_000))).isEqualTo(Arrays.copyOf(content, 50_000));
            RemoteSlice outside = new RemoteSlice(Region.FIRST_ON_DISK, 1L << 40, 10);
            assertThat(failure(peer, TIMEOUT, outside).reason()).isEqualTo(Reason.UNREADABLE);
            awaitNothingStaged(0);
        }
    }

    @Test
    void ownerWithoutRoomIsAskedUntilThereIsSome() throws Exception {
        leases.addAll(TestPools.fill(owner.pool()));
        List<Lease> rest = new ArrayList<>();
        for (Lease lease = take(); lease != null; lease = take()) {
            rest.add(lease);
        }
        assertThat(rest).as("what is set aside for staging").isNotEmpty();
        long others = leases.size() - 1L;
        try (Peer peer = reader.connect(owner)) {
            assertThat(failure(peer, SHORT, slice(onDisk, 0, BYTES)).reason()).isEqualTo(Reason.NO_ROOM);
            CompletableFuture<byte[]> later = CompletableFuture.supplyAsync(() -> {
                try {
                    return read(peer, TIMEOUT, slice(onDisk, 0, BYTES));
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            rest.forEach(Lease::close);
            rest.clear();
            assertThat(later.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isEqualTo(content);
            awaitNothingStaged(others);
        } finally {
            rest.forEach(Lease::close);
        }
    }

    private @Nullable Lease take() throws InterruptedException {
        return owner.pool().reserve(Purpose.STAGING, 64, 64 << 10, Duration.ZERO);
    }

    @Test
    void ownerThatIsKilledWhileItStagesIsGone() throws Exception {
        try (PeerProcess mortal = PeerProcess.start(directory, disk);
                Peer toMortal = reader.fabric().connect("mortal", mortal.address());
                Peer peer = reader.connect(owner)) {
            assertThat(read(toMortal, TIMEOUT, mortal.onDisk())).isEqualTo(PeerProcess.expected());
            mortal.signal("STOP");
            CompletableFuture<ReadFailedException> failure = CompletableFuture.supplyAsync(() ->
                    catchThrowableOfType(ReadFailedException.class, () -> read(toMortal, TIMEOUT, mortal.onDisk())));
            while (reader.pool().usage().leases() == 0 && !failure.isDone()) {
                Thread.sleep(5);
            }
            mortal.kill();
            assertThat(failure.get(2 * TIMEOUT.toSeconds(), TimeUnit.SECONDS).reason())
                    .isIn(Reason.PEER_GONE, Reason.TRANSPORT_ERROR, Reason.TIMED_OUT);
            assertThat(read(peer, TIMEOUT, slice(onDisk, 0, BYTES))).isEqualTo(content);
        }
        assertThat(reader.pool().usage().leases()).isZero();
    }

    @Test
    void readerThatIsGoneLeavesNothingStaged() throws Exception {
        try (Peer peer = reader.connect(owner)) {
            for (int i = 0; i < 20; i++) {
                assertThat(read(peer, TIMEOUT, slice(onDisk, 0, BYTES))).isEqualTo(content);
            }
        }
        reader.close();
        awaitNothingStaged(0);
    }
}
