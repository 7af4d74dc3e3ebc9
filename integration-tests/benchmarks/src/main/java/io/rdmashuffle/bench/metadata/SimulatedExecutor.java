// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryAgent;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * What an executor has of the plugin, without Spark: pool, fabric, directory, map outputs, and its side of the
 * registry.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns all its parts.
 */
final class SimulatedExecutor implements AutoCloseable {
    /** The default of {@code spark.shuffle.rdma.directory.maxShuffles}. */
    static final int SLOTS = 4096;

    static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final long MEGABYTE = 1L << 20;
    private static final long REGION_BYTES = 256 * MEGABYTE;
    private static final long RECORD_BYTES = 64;
    /**
     * As long as an encoded {@code VerbsAddress} of one rail with IPv4, for the size of messages; nothing decodes it.
     */
    private static final int VERBS_ADDRESS_BYTES = 38;

    private final String id;
    private final Pool pool;
    private final ShmFabric fabric;
    private final MapOutputDirectory directory;
    private final MapOutputStore store;
    private final RegistryAgent agent;
    private final int[] checksums;
    private final long[] lengths;

    /**
     * Opens an executor that has not joined yet.
     *
     * @param inPlace whether peers' memory is read where it lies, or copied
     */
    SimulatedExecutor(int number, Scale scale, Path folder, boolean inPlace, CountedDriver driver)
            throws InterruptedException {
        this.id = Integer.toString(number);
        long poolBytes = poolBytes(scale);
        this.fabric = new ShmFabric(1, 48 * MEGABYTE, inPlace);
        this.pool = Pool.create(
                new PoolSettings(folder, poolBytes, poolBytes, Math.min(poolBytes, REGION_BYTES), false), fabric);
        this.directory = MapOutputDirectory.create(pool, SLOTS, UUID.randomUUID());
        this.store = new MapOutputStore(directory, new ShuffleCounters());
        this.agent = new RegistryAgent(id, driver.channel(id), driver, TIMEOUT);
        driver.add(id, agent);
        this.lengths = new long[scale.partitions()];
        this.checksums = new int[scale.partitions()];
        Arrays.fill(lengths, 1);
        Arrays.setAll(checksums, p -> 31 * p);
    }

    /**
     * Returns how long a pool must be for its share of a shuffle: table, segments with those outgrown, indexes, data.
     */
    static long poolBytes(Scale scale) {
        long maps = (scale.maps() + scale.executors() - 1L) / scale.executors();
        long index = MapOutputIndex.lengthBytes(scale.partitions(), 1) + RECORD_BYTES;
        long data = RECORD_BYTES + scale.partitions();
        long segments = 4 * maps * RECORD_BYTES;
        long table = RECORD_BYTES * (1L + SLOTS);
        long wanted = table + segments + maps * (index + data) + MEGABYTE;
        // The rest of a region is too small for an index.
        long ends = (wanted / REGION_BYTES + 1) * (index + data);
        return (wanted + ends + MEGABYTE - 1) / MEGABYTE * MEGABYTE;
    }

    String id() {
        return id;
    }

    Pool pool() {
        return pool;
    }

    long tableBytes() {
        return directory.tableBytes();
    }

    byte[] directoryAddress() {
        return directory.location().encode();
    }

    MapOutputStore store() {
        return store;
    }

    /** Announces itself to the driver, as the plugin does when an executor starts. */
    void join() {
        Member member = new Member(
                id,
                UUID.randomUUID(),
                Map.of(
                        fabric.name(),
                        fabric.localAddress(),
                        "verbs",
                        new byte[VERBS_ADDRESS_BYTES],
                        PeerPaths.DIRECTORY_ADDRESS,
                        directoryAddress()));
        if (!agent.announce(member)) {
            throw new IllegalStateException("the driver rejected executor " + id);
        }
    }

    int peers() {
        return agent.peers().size();
    }

    /** Returns the way to all others as an executor has it before its first reduce task. */
    PeerPaths freshPaths() {
        return new PeerPaths(
                List.of(fabric),
                new BlockingReads(new ReceiveLeases(pool, Duration.ZERO), TIMEOUT),
                agent,
                Duration.ZERO);
    }

    /**
     * Publishes a map output of one byte for each partition.
     *
     * @return nanoseconds of index and directory entry
     */
    long publish(int shuffleId, long mapId) throws IOException, InterruptedException {
        long dataBytes = lengths.length;
        Lease data = pool.reserve(Purpose.MAP_OUTPUT, dataBytes, dataBytes, Duration.ZERO);
        if (data == null) {
            throw new IllegalStateException("no room for map output " + mapId + ": " + pool.usage());
        }
        int epoch = store.epoch(shuffleId);
        long started = System.nanoTime();
        MapOutput output =
                MapOutput.create(TieredPool.of(pool), mapId, List.of(data), new long[] {dataBytes}, lengths, checksums);
        if (output == null) {
            data.close();
            throw new IllegalStateException("no room for the index of map output " + mapId + ": " + pool.usage());
        }
        store.add(shuffleId, epoch, output);
        return System.nanoTime() - started;
    }

    @Override
    public void close() {
        agent.close();
        store.close();
        fabric.close();
        pool.close();
    }
}
