// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Reads of a peer's disk tier over TCP. */
@Tag("fault")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class TcpDiskTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
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
        reader = new Node(directory, TestTcp.fabric(8 << 20));
        owner = new Node(directory, TestTcp.fabric(8 << 20));
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
        reader.close();
        owner.fabric().close();
        leases.forEach(Lease::close);
        owner.close();
        tier.close();
    }

    private static RemoteSlice slice(Lease lease, long offset, long length) {
        return new RemoteSlice(lease.region().id(), lease.offset() + offset, length);
    }

    private byte[] read(Peer peer, RemoteSlice... slices) throws Exception {
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ofSeconds(5)), TIMEOUT);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (RemoteBytes bytes = reads.read(peer, List.of(slices))) {
            for (int i = 0; i < slices.length; i++) {
                all.writeBytes(TestPools.bytes(bytes.memory(i)));
            }
        }
        return all.toByteArray();
    }

    private ReadFailedException failure(Peer peer, RemoteSlice slice) {
        ReadFailedException failure = catchThrowableOfType(ReadFailedException.class, () -> read(peer, slice));
        assertThat(failure).isNotNull();
        assertThat(reader.pool().usage().leases()).as("targets released").isZero();
        return failure;
    }

    @Test
    void bytesOnDiskAndInMemoryComeInOrder() throws Exception {
        Lease inMemory = TestPools.filled(owner.pool(), 5000, new Random(1));
        leases.add(inMemory);
        try (Peer peer = reader.connect(owner)) {
            assertThat(peer.readsDisk()).isTrue();
            assertThat(read(peer, slice(onDisk, 0, BYTES))).isEqualTo(content);
            ByteArrayOutputStream expected = new ByteArrayOutputStream();
            List<RemoteSlice> slices = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                slices.add(slice(onDisk, i * 2000L, 1 + i));
                expected.write(content, i * 2000, 1 + i);
                slices.add(slice(inMemory, i, 10));
                expected.writeBytes(TestPools.bytes(inMemory.memory().slice(i, 10)));
            }
            slices.add(slice(onDisk, 7, 50_000));
            expected.write(content, 7, 50_000);
            slices.add(slice(inMemory, 0, 5000));
            expected.writeBytes(TestPools.bytes(inMemory.memory().slice(0, 5000)));
            assertThat(read(peer, slices.toArray(RemoteSlice[]::new))).isEqualTo(expected.toByteArray());
            assertThat(owner.pool().usage().leases()).as("nothing is staged").isEqualTo(1);
        }
    }

    @Test
    void truncatedFileFailsItsReadsAndNotThePath() throws Exception {
        try (FileChannel file = FileChannel.open(onDisk.region().file(), StandardOpenOption.WRITE)) {
            file.truncate(onDisk.offset() + 50_000);
        }
        try (Peer peer = reader.connect(owner)) {
            assertThat(failure(peer, slice(onDisk, 0, BYTES)).reason()).isEqualTo(Reason.UNREADABLE);
            assertThat(read(peer, slice(onDisk, 0, 50_000))).isEqualTo(Arrays.copyOf(content, 50_000));
            RemoteSlice outside = new RemoteSlice(Region.FIRST_ON_DISK, 1L << 40, 10);
            assertThat(failure(peer, outside).reason()).isEqualTo(Reason.UNREADABLE);
        }
    }

    @Test
    void rangeWithoutALeaseIsNotServed() throws Exception {
        try (Peer peer = reader.connect(owner)) {
            leases.remove(onDisk);
            onDisk.close();
            assertThat(failure(peer, slice(onDisk, 0, 100)).reason()).isEqualTo(Reason.UNREADABLE);
        }
    }
}
