// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.micro;

import io.rdmashuffle.directory.IndexCache;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.UUID;

/**
 * Pool, directory and map outputs of one executor, and a reader of them over shared memory.
 *
 * <p><b>Ownership:</b> owns all of them.
 */
public final class BenchExecutor implements AutoCloseable {
    /** The shuffle of all its map outputs. */
    public static final int SHUFFLE = 7;

    private static final long POOL_BYTES = 256L << 20;
    private static final int SLOTS = 64;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private final ShmFabric fabric;
    private final Pool pool;
    private final MapOutputDirectory directory;
    private final MapOutputStore store;
    private final Peer peer;

    BenchExecutor() {
        this(true);
    }

    /** Opens an executor that reads in place or copies. */
    public BenchExecutor(boolean inPlace) {
        fabric = new ShmFabric(1, POOL_BYTES, inPlace);
        pool = Pool.create(new PoolSettings(Path.of("/dev/shm"), POOL_BYTES, POOL_BYTES, POOL_BYTES, false), fabric);
        try {
            directory = MapOutputDirectory.create(pool, SLOTS, UUID.randomUUID());
            peer = fabric.connect("bench", fabric.localAddress());
        } catch (PeerUnreachableException | InterruptedException e) {
            throw new IllegalStateException("cannot set up pool and directory", e);
        }
        store = new MapOutputStore(directory, new ShuffleCounters());
    }

    Pool pool() {
        return pool;
    }

    /** Returns its map outputs. */
    public MapOutputStore store() {
        return store;
    }

    /** Returns a reader that knows nothing yet. */
    public RemoteDirectory reader() {
        BlockingReads reads = new BlockingReads(new ReceiveLeases(pool, Duration.ZERO), TIMEOUT);
        return new RemoteDirectory(peer, directory.location(), reads, new IndexCache(16 << 20));
    }

    /** Leases memory of its pool. */
    public Lease lease(int bytes) throws InterruptedException {
        return Objects.requireNonNull(
                pool.reserve(Purpose.MAP_OUTPUT, bytes, bytes, Duration.ZERO), "the pool is full");
    }

    /** Publishes a map output of one byte for each partition. */
    public void publish(long mapId, int partitions) throws IOException, InterruptedException {
        long[] lengths = new long[partitions];
        Arrays.fill(lengths, 1);
        MapOutput output = MapOutput.create(
                TieredPool.of(pool),
                mapId,
                List.of(lease(partitions)),
                new long[] {partitions},
                lengths,
                new int[partitions]);
        store.add(SHUFFLE, store.epoch(SHUFFLE), Objects.requireNonNull(output, "the pool is full"));
    }

    @Override
    public void close() {
        peer.close();
        store.close();
        fabric.close();
        pool.close();
    }
}
