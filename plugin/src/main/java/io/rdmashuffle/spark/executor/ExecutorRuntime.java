// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.conf.MetricsConfig;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolApplication;
import io.rdmashuffle.peer.InheritedPools;
import io.rdmashuffle.peer.PathProbe;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.Receipt;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import io.rdmashuffle.registry.RegistryWire;
import io.rdmashuffle.shuffle.DirectShuffleHandle;
import io.rdmashuffle.shuffle.migrate.IncomingOutputs;
import io.rdmashuffle.shuffle.read.ReadServices;
import io.rdmashuffle.shuffle.write.CompressionChoice;
import io.rdmashuffle.shuffle.write.PoolExecutorComponents;
import io.rdmashuffle.shuffle.write.ReportedSizes;
import io.rdmashuffle.spark.compat.SparkLine;
import io.rdmashuffle.spark.metrics.Readings;
import io.rdmashuffle.spark.metrics.RegisteredSource;
import io.rdmashuffle.spark.rpc.PeerMessages;
import io.rdmashuffle.spark.rpc.RegistryEndpoint;
import io.rdmashuffle.spark.support.KeptOutputs;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleExecutorComponents;
import org.apache.spark.util.RpcUtils;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runtime of the shuffle in one process: memory and its upkeep, network, removal of unregistered shuffles, and
 * counters. Each part is created on first use.
 *
 * <p><b>Threading:</b> thread-safe; parts are created once, under this object's lock.
 *
 * <p><b>Ownership:</b> owns its parts; {@link #close()} closes them in order of their dependencies.
 */
public final class ExecutorRuntime implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorRuntime.class);

    /**
     * A pool of some GB fills in a few seconds; a look at how full it is, and whether this process has joined its
     * peers, costs next to nothing.
     */
    private static final Duration DEMOTION_INTERVAL = Duration.ofSeconds(1);

    private static final Duration JOIN_INTERVAL = Duration.ofSeconds(5);

    /**
     * An executor that stops is not held up by a driver that does not answer: a standalone worker kills it 10 s after
     * it has asked it to end, and then its files stay.
     */
    private static final Duration LAST_REPORT_TIMEOUT = Duration.ofSeconds(5);

    private static final int MAX_REASON = 1000;

    /** More than any pool has, so that a pool that shrinks meanwhile does not hide the first file. */
    private static final long FIRST_FILE = 1L << 60;

    private final SparkLine spark;
    private final SparkConf conf;
    private final ShuffleConfig config;
    private final boolean isLocal;
    private final RegistryWire wire;
    private final Supplier<Set<Integer>> shufflesInFiles;
    private final IntConsumer unregister;
    private final Predicate<Report> ownDriver;
    private final ShuffleCounters counters = new ShuffleCounters();
    private final RegisteredSource metrics = new RegisteredSource(this::readings);
    /** One for all writers, since each learns from the others. */
    private final CompressionChoice compression;

    private final ReportedSizes reportedSizes;

    private volatile @Nullable ExecutorMemory memory;
    private volatile @Nullable ExecutorNetwork network;
    private @Nullable PeriodicWork cleaner;
    private @Nullable PeriodicWork upkeep;
    private @Nullable PeriodicWork demotion;
    private @Nullable PeriodicWork joiner;
    private @Nullable PeriodicWork reports;
    private @Nullable ExecutorReporter reporter;
    private boolean closed;
    /**
     * Decides on the files of a pool that may stay, when the process is asked to end: waits for a close that is under
     * way.
     */
    private final Thread closeAtExit = new Thread(this::close, "rdma-shuffle-end");

    /**
     * Prepares; nothing is created yet.
     *
     * @param spark the calls that differ between versions of Spark
     * @param isLocal whether this process is the whole application, so that it has no peers
     * @param wire carries questions to the driver
     * @param shufflesInFiles shuffles of which this process has written Spark's files
     * @param unregister removes a shuffle from this process
     * @param ownDriver takes reports if this process is the whole application
     */
    public ExecutorRuntime(
            SparkLine spark,
            SparkConf conf,
            ShuffleConfig config,
            boolean isLocal,
            RegistryWire wire,
            Supplier<Set<Integer>> shufflesInFiles,
            IntConsumer unregister,
            Predicate<Report> ownDriver) {
        this.spark = spark;
        this.conf = conf;
        this.config = config;
        this.isLocal = isLocal;
        this.wire = wire;
        this.shufflesInFiles = shufflesInFiles;
        this.unregister = unregister;
        this.ownDriver = ownDriver;
        this.reportedSizes = new ReportedSizes(counters);
        this.compression = new CompressionChoice(
                config.get(ShuffleConfig.DISK_COMPRESS), !conf.contains("spark.io.compression.codec"));
    }

    /** Returns the calls that differ between versions of Spark. */
    public SparkLine spark() {
        return spark;
    }

    /** Returns the counters of this process, which exist before all other parts. */
    public ShuffleCounters counters() {
        return counters;
    }

    /**
     * Creates the pool if it does not exist.
     *
     * @throws IllegalArgumentException if this host cannot hold it and it may not shrink, saying what to raise
     */
    public ExecutorMemory memory() {
        ExecutorMemory held = memory;
        if (held == null) {
            synchronized (this) {
                held = memory;
                if (held == null) {
                    requireOpen();
                    held = ExecutorMemory.create(conf, config, counters, !isLocal);
                    memory = held;
                    if (held.mayLeave()) {
                        Runtime.getRuntime().addShutdownHook(closeAtExit);
                    }
                    upkeep = upkeepOf(held);
                    demotion = new PeriodicWork(
                            "demotion",
                            List.of(held::demote, this::joinWithOutputs, this::registerMetrics),
                            DEMOTION_INTERVAL);
                    if (held.mayLeave()) {
                        joiner = new PeriodicWork("join", List.of(this::joinEarly), JOIN_INTERVAL);
                    }
                }
            }
        }
        return held;
    }

    /** In a local application they are the driver's, which Spark would tell apart by its name only. */
    private void registerMetrics() {
        if (!isLocal) {
            metrics.ensureRegistered();
        }
    }

    private PeriodicWork upkeepOf(ExecutorMemory held) {
        return new PeriodicWork(
                "upkeep",
                List.of(
                        () -> held.giveBackIdle(config.get(ShuffleConfig.POOL_IDLE_TIMEOUT)),
                        this::releaseAbsentRegions,
                        () -> held.tendFiles(this::isKept)),
                PeriodicWork.intervalFor(config.get(ShuffleConfig.POOL_IDLE_TIMEOUT)));
    }

    /**
     * Pools of this application are kept as long as their executors are members, and marked as needed; others as long
     * as their application goes on.
     */
    private boolean isKept(Path pool, PoolApplication application) {
        if (!application.id().equals(conf.get("spark.app.id", ""))) {
            return Pool.goesOn(pool, application);
        }
        ExecutorNetwork joined = network;
        boolean kept = joined == null || joined.mayBeMember(pool);
        if (kept) {
            Pool.touch(pool);
        }
        return kept;
    }

    private void releaseAbsentRegions() {
        ExecutorNetwork joined = network;
        if (joined != null) {
            joined.paths().releaseAbsentRegions();
        }
    }

    private ExecutorNetwork network() {
        ExecutorNetwork joined = network;
        if (joined == null) {
            synchronized (this) {
                joined = network;
                if (joined == null) {
                    requireOpen();
                    memory().tryService(SparkEnv.get().blockManager(), config.get(ShuffleConfig.REGISTRY_TIMEOUT));
                    joined = new ExecutorNetwork(
                            spark, SparkEnv.get(), config, memory(), counters, () -> report(Occasion.USUAL), wire);
                    network = joined;
                    if (!isLocal) {
                        joined.announce();
                        cleaner = new PeriodicWork(
                                "sweep",
                                List.of(new RemovedShuffleCleaner(
                                        this::heldShuffles, joined::removedShuffles, unregister)),
                                config.get(ShuffleConfig.REGISTRY_SWEEP_INTERVAL));
                    }
                    beginReports(joined);
                }
            }
        }
        return joined;
    }

    private void beginReports(ExecutorNetwork joined) {
        ExecutorReporter made = new ExecutorReporter(
                this::report,
                report -> send(report, joined),
                joined::peers,
                this::urgent,
                config.get(MetricsConfig.INTERVAL),
                System::nanoTime);
        reporter = made;
        reports = new PeriodicWork("report", List.of(made), ExecutorReporter.TICK);
    }

    /** Grows with the pool, and with the first map output in Spark's files: both decide whether outputs are kept. */
    private long urgent() {
        long filed = counters.snapshot().getOrDefault(ShuffleCounter.MAP_OUTPUTS_FILED, 0L);
        return memory().poolBytes() + (filed > 0 ? FIRST_FILE : 0);
    }

    private Receipt send(Report report, ExecutorNetwork joined) {
        if (isLocal) {
            return ownDriver.test(report) ? Receipt.TAKEN : Receipt.NONE;
        }
        Duration timeout = report.last() ? LAST_REPORT_TIMEOUT : config.get(ShuffleConfig.REGISTRY_TIMEOUT);
        return joined.report(report, timeout, report.last() && memory().mayLeave());
    }

    /** An executor with only migrated outputs must be announced, and be notified of removals. */
    private void joinWithOutputs() {
        ExecutorMemory held = memory;
        if (!isLocal
                && network == null
                && held != null
                && !held.store().shuffleIds().isEmpty()) {
            ensureAnnounced();
        }
    }

    /** An executor that may serve outputs of others must be known before it has a task. */
    private void joinEarly() {
        if (isDriverReady()) {
            ensureAnnounced();
        }
    }

    /** Returns whether the driver takes announcements, as it does from its first shuffle on. */
    private boolean isDriverReady() {
        SparkEnv env = SparkEnv.get();
        // Spark sets the id when its block transfer has started.
        if (network != null || env == null || env.blockManager().blockManagerId() == null) {
            return network != null;
        }
        try {
            RpcEndpointRef unused = RpcUtils.makeDriverRef(RegistryEndpoint.DRIVER, conf, env.rpcEnv());
            return true;
        } catch (Exception e) {
            // Scala throws RpcEndpointNotFoundException and others without declaring them.
            LOG.debug("The driver has no shuffle yet", e);
            return false;
        }
    }

    /** Joins the others, or announces this process again if the driver has not taken it yet; cheap when it has. */
    public void ensureAnnounced() {
        network().ensureAnnounced();
    }

    /** Returns the sizes of blocks reported to Spark. */
    public ReportedSizes reportedSizes() {
        return reportedSizes;
    }

    /** Returns whether map outputs of a shuffle are all compressed. */
    public boolean isCompressed(DirectShuffleHandle<?, ?, ?> shuffle) {
        return switch (shuffle.compression()) {
            case OFF -> false;
            case ON -> true;
            case ASK_DRIVER -> network().isCompressed(shuffle.shuffleId());
        };
    }

    /** Reads from other executors as tasks do, and returns the results; see {@link PeerPaths#probe}. */
    public List<PathProbe> probe(List<String> executorIds) throws InterruptedIOException {
        ensureAnnounced();
        List<PathProbe> probes = new ArrayList<>();
        for (String executorId : executorIds) {
            probes.add(network().paths().probe(executorId));
        }
        return probes;
    }

    /** Returns the services of reduce tasks; joins the other executors on first use. */
    public ReadServices readServices() {
        return network().readServices();
    }

    /**
     * Returns the destination of map outputs.
     *
     * @param resolver commits the files of outputs that the pool cannot take
     */
    public PoolExecutorComponents executorComponents(IndexShuffleBlockResolver resolver) {
        ExecutorMemory held = memory();
        return new PoolExecutorComponents(
                held.pool(),
                held.store(),
                config.get(ShuffleConfig.POOL_CHUNK_SIZE),
                held.limits(),
                compression,
                new LocalDiskShuffleExecutorComponents(conf, SparkEnv.get().blockManager(), resolver));
    }

    /** Returns the map outputs in the pool; null while there is no pool. */
    @Nullable
    public MapOutputStore storeOrNull() {
        ExecutorMemory held = memory;
        return held == null ? null : held.store();
    }

    /** Returns the receiver of other executors' outputs; null without a pool. */
    @Nullable
    public IncomingOutputs incomingOrNull() {
        ExecutorMemory held = memory;
        return held == null ? null : held.incoming();
    }

    /** Returns the reserved blocks for other executors; null before this one has joined. */
    @Nullable
    public PeerMessages messagesOrNull() {
        ExecutorNetwork joined = network;
        return joined == null ? null : joined.messages();
    }

    /** Returns the pools of ended executors that this one serves; null before it has joined. */
    @Nullable
    public InheritedPools inheritedOrNull() {
        ExecutorNetwork joined = network;
        return joined == null ? null : joined.inherited();
    }

    /**
     * Returns whether other executors of this host will serve the map outputs of this one, which is being
     * decommissioned, so that they need not be moved. Asks the driver.
     */
    public boolean leavesOutputs() {
        ExecutorMemory held = memory;
        ExecutorNetwork joined = network;
        return held != null
                && joined != null
                && held.mayLeave()
                && joined.report(report(Occasion.DECOMMISSIONED), config.get(ShuffleConfig.REGISTRY_TIMEOUT), true)
                        == Receipt.LEAVE_FILES;
    }

    /** Drops everything that is here, or known of peers, of a shuffle. */
    public void removeShuffle(int shuffleId) {
        ExecutorMemory held = memory;
        if (held != null) {
            held.store().removeShuffle(shuffleId);
            held.incoming().removeShuffle(shuffleId);
        }
        ExecutorNetwork joined = network;
        if (joined != null) {
            joined.forgetShuffle(shuffleId);
        }
    }

    private Set<Integer> heldShuffles() {
        Set<Integer> held = new HashSet<>(memory().store().shuffleIds());
        held.addAll(network().paths().shuffleIds());
        held.addAll(shufflesInFiles.get());
        return held;
    }

    /** Returns whether there is a pool, so that there is something to count. */
    public boolean hasMemory() {
        return memory != null;
    }

    /** Returns the counters of this process. */
    public Map<ShuffleCounter, Long> statistics() {
        Map<ShuffleCounter, Long> values = counters.snapshot();
        ExecutorMemory held = memory;
        if (held != null) {
            held.addGauges(values);
        }
        ExecutorNetwork joined = network;
        if (joined != null) {
            values.put(ShuffleCounter.PEER_MAPPINGS, joined.paths().openRegions());
            values.put(ShuffleCounter.INDEX_READS, joined.paths().indexReads());
            values.put(ShuffleCounter.POOLS_INHERITED, (long) joined.inherited().count());
            values.put(ShuffleCounter.PEERS_QUARANTINED, (long)
                    joined.paths().quarantined().size());
            values.put(ShuffleCounter.QUARANTINES, joined.paths().quarantines());
        }
        return values;
    }

    /** Returns the readings for the metrics of this process. */
    Readings readings() {
        ExecutorMemory held = memory;
        return Readings.of(statistics(), held == null ? Latencies.NONE : held.readLatencies());
    }

    /** Returns the report of this process to the driver. */
    public Report report(Occasion occasion) {
        Readings readings = readings();
        Map<String, Long> named = new HashMap<>();
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            named.put(counter.name(), readings.get(counter));
        }
        ExecutorMemory held = memory;
        ExecutorNetwork joined = network;
        String whyNotRdma = held == null ? null : held.whyNotRdma();
        SparkEnv env = SparkEnv.get();
        return new Report(
                env.executorId(),
                env.blockManager().blockManagerId().host(),
                occasion,
                named,
                Arrays.stream(readings.readLatencies().counts()).boxed().toList(),
                joined == null ? List.of() : joined.pathGroups(),
                joined == null ? List.of() : joined.someQuarantined(),
                whyNotRdma == null ? "" : whyNotRdma.substring(0, Math.min(MAX_REASON, whyNotRdma.length())));
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the shuffle manager has been stopped");
        }
    }

    /** Ends everything; idempotent. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (memory != null) {
            LOG.info("RDMA shuffle statistics: {}", ShuffleCounter.format(statistics()));
        }
        closeOrWarn("metrics", metrics);
        closeOrWarn("joiner", joiner);
        // The last report counts the outputs in the disk tier.
        closeOrWarn("demotion", demotion);
        closeOrWarn("reports", reports);
        Receipt receipt = reporter == null ? Receipt.NONE : reporter.reportLast();
        closeOrWarn("cleaner", cleaner);
        closeOrWarn("upkeep", upkeep);
        ExecutorMemory held = memory;
        if (held != null && !isLocal && KeptOutputs.areKept(conf, config)) {
            // The driver has dropped outputs of ended executors at the end, or if this is the last on its host.
            closeOrWarn("pool directory", () -> held.tendFiles(this::isKept));
        }
        closeOrWarn("network", network);
        if (held != null && receipt == Receipt.LEAVE_FILES && held.mayLeave()) {
            LOG.info("The application goes on: leaving the map outputs to others on this host");
            closeOrWarn("memory", held::leave);
        } else {
            closeOrWarn("memory", memory);
        }
        try {
            Runtime.getRuntime().removeShutdownHook(closeAtExit);
        } catch (IllegalStateException shuttingDown) {
            LOG.debug("Closed during shutdown: nothing is left for the shutdown hook", shuttingDown);
        }
    }

    /** One part that fails to close must not keep the others open. */
    public static void closeOrWarn(String name, @Nullable AutoCloseable part) {
        try {
            if (part != null) {
                part.close();
            }
        } catch (Exception e) {
            LOG.warn("The {} of the RDMA shuffle did not close cleanly", name, e);
        }
    }
}
