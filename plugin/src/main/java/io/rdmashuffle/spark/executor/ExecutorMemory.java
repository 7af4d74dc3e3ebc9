// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricLoad;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.fabric.tcp.TcpFabric;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolApplication;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.PoolUsage;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.disk.DiskSettings;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.DiskUsage;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.shuffle.migrate.IncomingOutputs;
import io.rdmashuffle.spark.support.ApplicationSettings;
import io.rdmashuffle.store.Demotion;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.PoolLimits;
import io.rdmashuffle.store.ServiceFiles;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import io.rdmashuffle.text.Quantities;
import java.io.File;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiPredicate;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.package$;
import org.apache.spark.storage.BlockManager;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registered memory of one process: pool, fabrics, directory and map outputs.
 *
 * <p>Created, or failed with a remedy, before the first task. If the host cannot hold the pool and it may shrink, the
 * pool is as large as possible: without room for the directory's table it refuses everything, map outputs become
 * Spark's files, and peers read them over Spark's block transfer.
 *
 * <p><b>Threading:</b> its parts are thread-safe.
 *
 * <p><b>Ownership:</b> owns its parts; {@link #close()} ends them in the order in which they depend on one another.
 */
public final class ExecutorMemory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorMemory.class);

    private static final String MIGRATED_DISK_LIMIT = "spark.storage.decommission.shuffleBlocks.maxDiskSize";

    /** Unit of reservation on disk: few system calls, and little unused space in small jobs. */
    private static final long DISK_GROWTH_BYTES = 16 << 20;

    private static final long LEAST_READ_BYTES = 8 << 20;
    private static final long READ_SHARE = 32;

    private static final long MEGA = 1_000_000;

    private static final Duration TRIAL_WAIT = Duration.ofSeconds(1);

    /** In each local directory: as many as an executor usually has cores. */
    private static final int DISK_FILES = 8;

    private final UUID incarnation = UUID.randomUUID();
    private final List<Fabric> fabrics;
    private final @Nullable String whyNotRdma;
    private final TieredPool pool;
    private final Path poolDirectory;
    private final PoolLimits limits;
    private final MapOutputDirectory directory;
    private final @Nullable ServiceFiles serviceFiles;
    private final MapOutputStore store;
    private final IncomingOutputs incoming;
    private final @Nullable Demotion demotion;
    private volatile @Nullable ServiceTrial trial;
    private boolean closed;

    private ExecutorMemory(
            FabricChoice.Opened opened,
            TieredPool pool,
            PoolSizing sizing,
            SparkConf conf,
            ShuffleConfig config,
            ShuffleCounters counters,
            @Nullable ServiceFiles serviceFiles)
            throws InterruptedException {
        this.fabrics = opened.fabrics();
        this.whyNotRdma = opened.whyNotRdma();
        this.pool = pool;
        PoolSettings settings = sizing.settings();
        this.poolDirectory = settings.directory();
        this.limits = new PoolLimits(
                settings.capBytes(), settings.regionBytes(), config.get(ShuffleConfig.DIRECT_COMPRESS_ABOVE));
        this.directory = directory(config.get(ShuffleConfig.DIRECTORY_MAX_SHUFFLES), sizing);
        List<String> copying =
                fabrics.stream().filter(Fabric::copies).map(Fabric::name).toList();
        boolean stages = pool.disk() != null && fabrics.stream().anyMatch(Fabric::stages);
        pool.memory()
                .setAside(
                        readBytes(copying, config.get(ShuffleConfig.FABRIC_MAX_BYTES_IN_FLIGHT), settings.capBytes()),
                        stages ? config.fabricMaxBytesStaged() : 0);
        fabrics.forEach(fabric -> fabric.serve(pool));
        this.serviceFiles = serviceFiles;
        this.store = new MapOutputStore(directory, counters, serviceFiles);
        this.incoming = new IncomingOutputs(
                // Who limits the bytes on disk that may be taken over means Spark's files, whose sizes Spark knows.
                conf.contains(MIGRATED_DISK_LIMIT) ? TieredPool.of(pool.memory()) : pool,
                config.get(ShuffleConfig.POOL_CHUNK_SIZE),
                limits,
                store,
                config.get(ShuffleConfig.MIGRATION_TIMEOUT));
        Duration grace = RemoteDirectory.TRUST.plus(
                config.get(ShuffleConfig.FABRIC_READ_TIMEOUT).multipliedBy(2));
        // The service may be sending from an output for any time.
        this.demotion = pool.disk() == null || serviceFiles != null
                ? null
                : new Demotion(pool, store, counters, config.get(ShuffleConfig.POOL_HIGH_WATER_MARK), grace);
    }

    /**
     * Returns the bytes of the pool that are kept for reads. TCP is always among the fabrics and may never be used, so
     * for TCP alone it is less than reads may have in flight.
     */
    static long readBytes(List<String> copying, long maxBytesInFlight, long capBytes) {
        if (copying.isEmpty()) {
            return 0;
        }
        return copying.equals(List.of(TcpFabric.NAME))
                ? Math.min(maxBytesInFlight, Math.max(LEAST_READ_BYTES, capBytes / READ_SHARE))
                : maxBytesInFlight;
    }

    private MapOutputDirectory directory(int slots, PoolSizing sizing) throws InterruptedException {
        try {
            return MapOutputDirectory.create(pool.memory(), slots, incarnation);
        } catch (IllegalArgumentException e) {
            if (!sizing.mayShrink()) {
                throw e;
            }
            sizing.addShortage(String.valueOf(e.getMessage()));
            pool.retire();
            return MapOutputDirectory.absent(pool.memory());
        }
    }

    /**
     * Returns the limits of a pool of this configuration, as the driver decides by it which shuffles are direct. An
     * executor whose pool is smaller may refuse more of them: their outputs become files, as when the pool is full.
     */
    public static PoolLimits limits(ShuffleConfig config) {
        return new PoolLimits(
                config.get(ShuffleConfig.POOL_MAX_SIZE),
                config.get(ShuffleConfig.POOL_REGION_SIZE),
                config.get(ShuffleConfig.DIRECT_COMPRESS_ABOVE));
    }

    /**
     * Creates the pool of a process.
     *
     * @param hasPeers false in local mode, where no peer ever reads
     * @throws IllegalArgumentException if this host cannot hold the pool and it may not shrink, saying what to raise
     */
    static ExecutorMemory create(SparkConf conf, ShuffleConfig config, ShuffleCounters counters, boolean hasPeers) {
        PoolSizing sizing = PoolSizing.on(conf, config, hasPeers);
        DiskTier disk = config.get(ShuffleConfig.DISK_ENABLED) ? diskTier(config) : null;
        FabricChoice.Opened opened =
                hasPeers ? FabricChoice.open(conf, config, sizing.settings(), disk) : FabricChoice.Opened.nothing();
        List<Fabric> fabrics = opened.fabrics();
        Pool pool = null;
        try {
            AtomicReference<@Nullable String> whyNotRdma = new AtomicReference<>(opened.whyNotRdma());
            pool = sizing.create(new FabricRegions(config.get(ShuffleConfig.FABRIC_MODE), fabrics, whyNotRdma::set));
            TieredPool tiers = new TieredPool(pool, disk);
            opened = new FabricChoice.Opened(List.copyOf(fabrics), whyNotRdma.get());
            boolean isServed = hasPeers && new SparkSettings(key -> conf.get(key, null)).isServed();
            ExecutorMemory memory = new ExecutorMemory(
                    opened, tiers, sizing, conf, config, counters, isServed ? serviceFiles(conf, counters) : null);
            if (memory.mayLeave()) {
                pool.keepFilesAtExit();
            }
            memory.announce(sizing, config);
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

    private static ServiceFiles serviceFiles(SparkConf conf, ShuffleCounters counters) {
        org.apache.spark.internal.config.package$ spark = org.apache.spark.internal.config.package$.MODULE$;
        boolean readableByAll = (boolean) conf.get(spark.SHUFFLE_SERVICE_REMOVE_SHUFFLE_ENABLED())
                || (boolean) conf.get(spark.SHUFFLE_SERVICE_FETCH_RDD_ENABLED());
        return new ServiceFiles(ExecutorMemory::shuffleFile, readableByAll, counters);
    }

    private static Path shuffleFile(String name) {
        return SparkEnv.get().blockManager().diskBlockManager().getFile(name).toPath();
    }

    private static DiskTier diskTier(ShuffleConfig config) {
        // Asked for later: on a Spark that creates the shuffle manager first there is no block manager yet.
        return new DiskTier(
                new DiskSettings(DISK_GROWTH_BYTES, config.get(ShuffleConfig.DISK_MIN_FREE), DISK_FILES),
                () -> Arrays.stream(
                                SparkEnv.get().blockManager().diskBlockManager().localDirs())
                        .map(File::toPath)
                        .toList());
    }

    private void announce(PoolSizing sizing, ShuffleConfig config) {
        String shortage = sizing.shortage().orElse(null);
        long most = directory.isAbsent() ? 0 : Math.min(pool.memory().usage().capBytes(), sizing.freeBytes());
        LOG.info(
                "RDMA shuffle {} on Spark {}: pool of up to {} in {}, disk tier {}, fabrics {}",
                ApplicationSettings.pluginVersion(),
                package$.MODULE$.SPARK_VERSION(),
                Quantities.mebibytes(most),
                config.get(ShuffleConfig.POOL_DIRECTORY),
                pool.disk() == null ? "off" : "on",
                fabrics.stream().map(Fabric::name).toList());
        if (shortage == null) {
            return;
        }
        LOG.warn(
                "Pool of up to {} in {} instead of {}: {}. {} (spark.shuffle.rdma.pool.onShortage)",
                Quantities.mebibytes(most),
                config.get(ShuffleConfig.POOL_DIRECTORY),
                Quantities.mebibytes(config.get(ShuffleConfig.POOL_MAX_SIZE)),
                shortage,
                most == 0
                        ? "All output goes to disk, and other executors read it over Netty"
                        : "Output that does not fit goes to disk");
        pool.memory().shortageReported();
    }

    /** Releases regions to the host that have been idle for that time. */
    void giveBackIdle(Duration idle) {
        int regions = pool.memory().giveBackIdle(idle);
        if (regions > 0) {
            LOG.info(
                    "Released {} idle region(s): the pool has {} now (spark.shuffle.rdma.pool.idleTimeout)",
                    regions,
                    Quantities.mebibytes(pool.memory().usage().capacityBytes()));
        }
    }

    /**
     * Detects files of this pool that another program removed, and removes files of dead processes.
     *
     * @param isKept whether files that may outlive their process are kept
     */
    void tendFiles(BiPredicate<Path, PoolApplication> isKept) {
        pool.memory().checkFiles();
        try {
            int unused = Pool.removeAbandoned(poolDirectory, isKept);
        } catch (UncheckedIOException e) {
            LOG.debug("Cannot look for files of dead processes", e);
        }
    }

    /** Moves the oldest map outputs to disk if the memory is nearly full. */
    void demote() {
        if (demotion != null) {
            demotion.run();
        }
    }

    UUID incarnation() {
        return incarnation;
    }

    List<Fabric> fabrics() {
        return fabrics;
    }

    /** Returns the reason why RDMA is not used, for the user; null if it is. */
    @Nullable
    String whyNotRdma() {
        return whyNotRdma;
    }

    /** Returns the latencies of READs. */
    Latencies readLatencies() {
        return fabrics.stream().map(Fabric::readLatencies).reduce(Latencies.NONE, Latencies::plus);
    }

    TieredPool pool() {
        return pool;
    }

    /** Returns the limits of this pool. */
    PoolLimits limits() {
        return limits;
    }

    MapOutputStore store() {
        return store;
    }

    IncomingOutputs incoming() {
        return incoming;
    }

    /**
     * Returns the addresses of this memory for peers by fabric, and the location of the directory; empty without a
     * pool.
     */
    Map<String, byte[]> addresses() {
        Map<String, byte[]> addresses = new HashMap<>();
        if (!directory.isAbsent()) {
            fabrics.forEach(fabric -> addresses.put(fabric.name(), fabric.localAddress()));
            addresses.put(PeerPaths.DIRECTORY_ADDRESS, directory.location().encode());
            Path files = pool.memory().filesPath();
            if (files != null && mayLeave()) {
                addresses.put(Member.OUTLIVES, files.toString().getBytes(StandardCharsets.UTF_8));
            }
        }
        return addresses;
    }

    /** Returns the directory of a member's pool files, if they may outlive it. */
    static Optional<Path> directoryOf(Member member) {
        byte[] path = member.address(Member.OUTLIVES);
        try {
            return path == null ? Optional.empty() : Optional.of(Path.of(new String(path, StandardCharsets.UTF_8)));
        } catch (InvalidPathException e) {
            LOG.debug("{} names no directory", member, e);
            return Optional.empty();
        }
    }

    /**
     * Finds out whether the external shuffle service, if it serves this application, can read the pool's files. Waits a
     * second at most; outputs are copied for the service until its answer is there.
     */
    void tryService(BlockManager blocks, Duration timeout) {
        ServiceFiles files = serviceFiles;
        if (files == null) {
            return;
        }
        ServiceTrial started =
                ServiceTrial.start(pool, files, blocks.blockStoreClient(), blocks.shuffleServerId(), timeout);
        trial = started;
        started.await(TRIAL_WAIT);
    }

    /** Returns whether the files can be left, when this process ends, to the service or to executors of its host. */
    boolean mayLeave() {
        return pool.memory().outlives()
                && (serviceFiles != null
                        || fabrics.stream().anyMatch(fabric -> fabric.name().equals(ShmFabric.NAME)));
    }

    /** Returns the length of the pool's files. */
    long poolBytes() {
        return pool.memory().usage().capacityBytes();
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
        values.put(ShuffleCounter.POOL_FILES_REMOVED, pool.memory().removedFiles());
        values.put(
                ShuffleCounter.POOL_WAIT_MILLIS,
                TimeUnit.NANOSECONDS.toMillis(pool.memory().waitedNanos()));
        values.put(ShuffleCounter.POOL_LEASES, (long) usage.leases() - directory.tables() + onDisk.leases());
        values.put(ShuffleCounter.DISK_USED_BYTES, onDisk.usedBytes());
        values.put(ShuffleCounter.DISK_PEAK_BYTES, onDisk.peakBytes());
        values.put(
                ShuffleCounter.REGION_REGISTRATIONS,
                fabrics.stream().mapToLong(Fabric::registrations).sum());
        FabricWork work = fabrics.stream().map(Fabric::work).reduce(FabricWork.NONE, FabricWork::plus);
        values.put(ShuffleCounter.READS, work.reads());
        values.put(ShuffleCounter.DOORBELLS, work.doorbells());
        values.put(ShuffleCounter.COMPLETIONS, work.completions());
        values.put(ShuffleCounter.WAKE_UPS, work.wakeUps());
        values.put(ShuffleCounter.LANES, work.lanes());
        addPoolGauges(values, usage);
        addLoad(values, fabrics.stream().map(Fabric::load).reduce(FabricLoad.NONE, FabricLoad::plus));
    }

    private static void addPoolGauges(Map<ShuffleCounter, Long> values, PoolUsage usage) {
        values.put(ShuffleCounter.POOL_FULL, usage.refusals());
        values.put(ShuffleCounter.POOL_CAP_BYTES, usage.capBytes());
        for (Purpose purpose : Purpose.values()) {
            values.put(counterOf(purpose), usage.usedByPurpose().getOrDefault(purpose, 0L));
        }
    }

    private static ShuffleCounter counterOf(Purpose purpose) {
        return switch (purpose) {
            case DIRECTORY -> ShuffleCounter.POOL_DIRECTORY_BYTES;
            case INDEX -> ShuffleCounter.POOL_INDEX_BYTES;
            case MAP_OUTPUT -> ShuffleCounter.POOL_MAP_OUTPUT_BYTES;
            case RECEIVE -> ShuffleCounter.POOL_RECEIVE_BYTES;
            case STAGING -> ShuffleCounter.POOL_STAGING_BYTES;
        };
    }

    private static void addLoad(Map<ShuffleCounter, Long> values, FabricLoad load) {
        values.put(ShuffleCounter.READS_IN_FLIGHT, load.readsInFlight());
        values.put(ShuffleCounter.IN_FLIGHT_BYTES, load.bytesInFlight());
        values.put(ShuffleCounter.READ_MEGABITS, load.bytesPerSecond() * Byte.SIZE / MEGA);
        values.put(ShuffleCounter.READS_RETRIED, load.readsRetried());
        values.put(ShuffleCounter.READS_FAILED, load.readsFailed());
        values.put(ShuffleCounter.CONNECTIONS, load.connections());
        values.put(ShuffleCounter.CONNECTIONS_OPENED, load.connectionsOpened());
        values.put(ShuffleCounter.CONNECTIONS_LOST, load.connectionsLost());
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        closeTrial();
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

    /** Ends everything as {@link #close} does, but leaves all files to those who serve them from now on. */
    synchronized void leave() {
        if (closed) {
            return;
        }
        closed = true;
        closeTrial();
        pool.retire();
        incoming.close();
        fabrics.forEach(Fabric::close);
        pool.memory().leave();
    }

    private void closeTrial() {
        ServiceTrial started = trial;
        if (started != null) {
            started.close();
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
