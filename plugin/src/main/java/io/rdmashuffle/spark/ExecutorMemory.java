// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import io.rdmashuffle.conf.Hugepages;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.memory.DiskSettings;
import io.rdmashuffle.memory.DiskTier;
import io.rdmashuffle.memory.DiskUsage;
import io.rdmashuffle.memory.HostLimits;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.PoolUsage;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.TieredPool;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.migrate.IncomingOutputs;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.PoolLimits;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import io.rdmashuffle.text.Quantities;
import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one process holds in registered memory: pool, fabrics that know its regions, directory and map outputs.
 *
 * <p>Exists, or fails with a remedy, before the first task.
 *
 * <p><b>Threading:</b> its parts are thread-safe.
 *
 * <p><b>Ownership:</b> owns its parts; {@link #close()} ends them in the order in which they depend on one another.
 */
final class ExecutorMemory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorMemory.class);

    private static final String MIGRATED_DISK_LIMIT = "spark.storage.decommission.shuffleBlocks.maxDiskSize";

    /** So much is reserved on disk at a time: few system calls, and little that a small job leaves unused. */
    private static final long DISK_GROWTH_BYTES = 64 << 20;

    private final UUID incarnation = UUID.randomUUID();
    private final List<Fabric> fabrics;
    private final TieredPool pool;
    private final MapOutputDirectory directory;
    private final MapOutputStore store;
    private final IncomingOutputs incoming;
    private boolean closed;

    private ExecutorMemory(
            List<Fabric> fabrics, TieredPool pool, SparkConf conf, ShuffleConfig config, ShuffleCounters counters)
            throws InterruptedException {
        this.fabrics = fabrics;
        this.pool = pool;
        this.directory = MapOutputDirectory.create(pool.memory(), config.directoryMaxShuffles(), incarnation);
        boolean copies = fabrics.stream().anyMatch(Fabric::copies);
        pool.memory().setAside(copies ? config.fabricMaxBytesInFlight() : 0);
        this.store = new MapOutputStore(directory, counters);
        this.incoming = new IncomingOutputs(
                // Who limits the bytes on disk that may be taken over means Spark's files, whose sizes Spark knows.
                conf.contains(MIGRATED_DISK_LIMIT) ? TieredPool.of(pool.memory()) : pool,
                config.poolChunkSizeBytes(),
                limits(config),
                store,
                config.migrationTimeout());
    }

    /** Returns what a pool of this configuration can be asked for; alike on driver and executors. */
    static PoolLimits limits(ShuffleConfig config) {
        return new PoolLimits(config.poolMaxSizeBytes(), config.poolRegionSizeBytes(), config.directCompressAbove());
    }

    /** Returns what the configuration makes of a pool. */
    private static PoolSettings settings(ShuffleConfig config) {
        return new PoolSettings(
                Path.of(config.poolDirectory()),
                config.poolMaxSizeBytes(),
                config.poolInitialSizeBytes(),
                config.poolRegionSizeBytes(),
                config.poolHugepages() == Hugepages.ADVISE);
    }

    /**
     * Refuses what this host cannot hold, after what dead processes hold has been freed.
     *
     * @throws IllegalArgumentException saying what to raise
     */
    static PoolSettings checkedSettings(ShuffleConfig config) {
        PoolSettings settings = settings(config);
        Pool.removeAbandoned(settings.directory());
        HostLimits.read(settings.directory()).check(settings, false);
        return settings;
    }

    /**
     * Creates the pool of a process.
     *
     * @param hasPeers false in local mode, where no peer ever reads
     * @throws IllegalArgumentException if this host cannot hold the pool, saying what to raise
     */
    static ExecutorMemory create(SparkConf conf, ShuffleConfig config, ShuffleCounters counters, boolean hasPeers) {
        PoolSettings settings = checkedSettings(config);
        DiskTier disk = config.diskEnabled() ? diskTier(config) : null;
        List<Fabric> fabrics = hasPeers ? FabricChoice.open(conf, config, settings, disk) : new ArrayList<>();
        Pool pool = null;
        try {
            pool = Pool.create(settings, region -> register(config, fabrics, region));
            ExecutorMemory memory =
                    new ExecutorMemory(List.copyOf(fabrics), new TieredPool(pool, disk), conf, config, counters);
            LOG.info("Pool of up to {} in {}", Quantities.mebibytes(settings.capBytes()), settings.directory());
            return memory;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            CloseOnFailure.close(e, () -> fabrics.forEach(Fabric::close), pool);
            throw new IllegalStateException("interrupted while creating the pool", e);
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, () -> fabrics.forEach(Fabric::close), pool);
            throw failure;
        }
    }

    private static DiskTier diskTier(ShuffleConfig config) {
        // Asked for later: on a Spark that creates the shuffle manager first there is no block manager yet.
        return new DiskTier(
                new DiskSettings(DISK_GROWTH_BYTES, config.diskMinFreeBytes()),
                () -> Arrays.stream(
                                SparkEnv.get().blockManager().diskBlockManager().localDirs())
                        .map(File::toPath)
                        .toList());
    }

    /** Registers a region with every fabric; one that refuses the very first is not used at all. */
    private static void register(ShuffleConfig config, List<Fabric> fabrics, Region region) {
        for (Fabric fabric : List.copyOf(fabrics)) {
            try {
                fabric.regionAdded(region);
            } catch (NativeException e) {
                if (region.id() > 0) {
                    throw e;
                }
                FabricChoice.explain(config.fabricMode(), e);
                fabrics.remove(fabric);
                fabric.close();
            }
        }
    }

    UUID incarnation() {
        return incarnation;
    }

    List<Fabric> fabrics() {
        return fabrics;
    }

    TieredPool pool() {
        return pool;
    }

    MapOutputStore store() {
        return store;
    }

    IncomingOutputs incoming() {
        return incoming;
    }

    /** Returns what peers need to read this memory, by fabric; plus where the directory is. */
    Map<String, byte[]> addresses() {
        Map<String, byte[]> addresses = new HashMap<>();
        fabrics.forEach(fabric -> addresses.put(fabric.name(), fabric.localAddress()));
        addresses.put(PeerPaths.DIRECTORY_ADDRESS, directory.location().encode());
        return addresses;
    }

    /** Adds the numbers that are read off the pool and the fabrics. */
    void addGauges(Map<ShuffleCounter, Long> values) {
        PoolUsage usage = pool.memory().usage();
        DiskTier disk = pool.disk();
        DiskUsage onDisk = disk == null ? DiskUsage.NONE : disk.usage();
        // The directory's tables are there until it stops; what counts is what shuffles hold.
        values.put(ShuffleCounter.POOL_USED_BYTES, usage.usedBytes() - directory.tableBytes());
        values.put(ShuffleCounter.POOL_PEAK_BYTES, usage.peakBytes());
        values.put(ShuffleCounter.POOL_CAPACITY_BYTES, usage.capacityBytes());
        values.put(ShuffleCounter.POOL_LEASES, (long) usage.leases() - directory.tables() + onDisk.leases());
        values.put(ShuffleCounter.DISK_USED_BYTES, onDisk.usedBytes());
        values.put(ShuffleCounter.DISK_PEAK_BYTES, onDisk.peakBytes());
        values.put(
                ShuffleCounter.REGION_REGISTRATIONS,
                fabrics.stream().mapToLong(Fabric::registrations).sum());
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        // Tasks may still run, here and at peers that read this memory: what the outputs leave must not be written to.
        pool.retire();
        incoming.close();
        store.close();
        fabrics.forEach(Fabric::close);
        closeTier(pool.memory()::close);
        DiskTier disk = pool.disk();
        if (disk != null) {
            closeTier(disk::close);
        }
    }

    private static void closeTier(Runnable close) {
        try {
            close.run();
        } catch (IllegalStateException leaked) {
            LOG.warn("Blocks were still in use when the shuffle manager stopped", leaked);
        }
    }
}
