// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Nodes of one test, the bytes in their pools and files, and reads of them. */
public final class ReadFixture implements AutoCloseable {
    /** Length of the leases of {@link #data} and {@link #serveDisk}. */
    public static final int BYTES = 100_000;

    public static final Duration LONG = Duration.ofSeconds(60);

    private final Path directory;
    private final Random random = new Random(7);
    private final List<Node> nodes = new ArrayList<>();
    private final List<Lease> leases = new ArrayList<>();
    private final List<DiskTier> tiers = new ArrayList<>();

    /** Prepares a test whose pools lie in this directory. */
    public ReadFixture(Path directory) {
        this.directory = directory;
    }

    /** Opens a pool that a fabric knows; closed with this. */
    public Node node(Fabric fabric) {
        Node node = new Node(directory, fabric);
        nodes.add(node);
        return node;
    }

    /** Fills {@value #BYTES} bytes of a pool; released with this. */
    public Lease data(Node node) throws InterruptedException {
        Lease lease = TestPools.filled(node.pool(), BYTES, random);
        leases.add(lease);
        return lease;
    }

    /** Gives a node a disk tier with bytes in it. */
    public Lease serveDisk(Node node, Path disk, byte[] content) {
        DiskTier tier = TestPools.diskTierOf(3, disk);
        tiers.add(tier);
        TieredPool both = new TieredPool(node.pool(), tier);
        node.fabric().serve(both);
        Lease lease = TestPools.filledOnDisk(both, content);
        leases.add(lease);
        return lease;
    }

    /** Leaves the end of a lease to this. */
    public void keep(List<Lease> others) {
        leases.addAll(others);
    }

    /** Ends a lease before the test does. */
    public void release(Lease lease) {
        leases.remove(lease);
        lease.close();
    }

    public static RemoteSlice all(Lease lease) {
        return slice(lease, 0, BYTES);
    }

    public static RemoteSlice slice(Lease lease, long offset, long length) {
        return new RemoteSlice(lease.region().id(), lease.offset() + offset, length);
    }

    /** Reads slices by one request and returns their bytes one after another. */
    public static byte[] read(Node reader, Peer peer, Duration timeout, RemoteSlice... slices) throws IOException {
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ofSeconds(5)), timeout);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (RemoteBytes bytes = reads.read(peer, List.of(slices))) {
            for (int i = 0; i < slices.length; i++) {
                all.writeBytes(TestPools.bytes(bytes.memory(i)));
            }
        }
        return all.toByteArray();
    }

    public static void assertReadable(Node reader, Peer peer, Lease lease) throws Exception {
        assertThat(read(reader, peer, LONG, all(lease)))
                .isEqualTo(TestPools.bytes(lease.memory().slice(0, BYTES)));
    }

    /** Reads until a read does not fail; the bytes of that one must be right. */
    public static void assertReadableAgain(
            Node reader, Peer peer, Duration timeout, RemoteSlice slice, byte[] expected) {
        byte[] bytes = eventually()
                .ignoreExceptionsInstanceOf(ReadFailedException.class)
                .until(() -> read(reader, peer, timeout, slice), read -> true);
        assertThat(bytes).isEqualTo(expected);
    }

    /** Returns why a read fails; it has released its target. */
    public static ReadFailedException failure(Node reader, Peer peer, Duration timeout, RemoteSlice slice) {
        ReadFailedException failure =
                catchThrowableOfType(ReadFailedException.class, () -> read(reader, peer, timeout, slice));
        assertThat(failure).isNotNull();
        assertThat(reader.pool().usage().leases()).as("targets released").isZero();
        return failure;
    }

    @Override
    public void close() {
        nodes.forEach(node -> node.fabric().close());
        leases.forEach(Lease::close);
        nodes.forEach(node -> {
            assertThat(node.pool().usage().leases()).as("leases").isZero();
            node.close();
        });
        tiers.forEach(DiskTier::close);
    }
}
