// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import io.rdmashuffle.conf.FabricMode;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.peer.PathProbe;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import io.rdmashuffle.registry.RegistryWire;
import io.rdmashuffle.shuffle.DirectShuffleEligibility;
import io.rdmashuffle.shuffle.DirectShuffleHandle;
import io.rdmashuffle.shuffle.NetworkCompression;
import io.rdmashuffle.shuffle.read.RdmaShuffleReader;
import io.rdmashuffle.shuffle.read.ReadServices;
import io.rdmashuffle.shuffle.serve.PoolBlocks;
import io.rdmashuffle.shuffle.write.DirectShuffleWriter;
import io.rdmashuffle.shuffle.write.PoolExecutorComponents;
import io.rdmashuffle.shuffle.write.WriteServices;
import io.rdmashuffle.spark.compat.SparkLine;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.spark.driver.DriverEndpoint;
import io.rdmashuffle.spark.driver.DriverReports;
import io.rdmashuffle.spark.executor.ExecutorMemory;
import io.rdmashuffle.spark.executor.ExecutorRuntime;
import io.rdmashuffle.spark.executor.PoolSizing;
import io.rdmashuffle.spark.support.ApplicationSettings;
import io.rdmashuffle.spark.support.SparkSupport;
import io.rdmashuffle.store.PoolLimits;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.Collectors;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.shuffle.sort.SortShuffleManager$;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockStatus;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.util.collection.OpenHashSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.reflect.ClassTag$;

/**
 * The shuffle manager that Spark loads: {@code spark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager}.
 *
 * <p>It is a {@link SortShuffleManager} because Spark copies every row for any manager that is not one
 * ({@code ShuffleExchangeExec.needToCopyObjectsBeforeShuffle}), and because that is the complete fall-back.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns what this plugin runs in the process, {@link ExecutorRuntime} and {@link DriverEndpoint};
 * {@link #stop()}, which Spark may call twice, ends both.
 */
public class RdmaShuffleManager extends SortShuffleManager implements PoolDataIO.Owner {
    private static final Logger LOG = LoggerFactory.getLogger(RdmaShuffleManager.class);

    /** Longest wait for executors' last reports at the end of an application with an event log. */
    private static final Duration LAST_REPORTS_TIMEOUT = Duration.ofSeconds(2);

    private final SparkConf conf;
    private final ShuffleConfig config;
    private final boolean isDriver;
    private final boolean isLocal;
    /** Null where the pool is used. */
    private final @Nullable String reasonAgainstPool;

    private final PoolLimits limits;
    private final RegistryWire wire;
    /**
     * Null where sort shuffle serves the application: on a Spark that lacks members, nothing that needs them may be
     * called.
     */
    private final @Nullable ExecutorRuntime runtime;

    private final @Nullable IndexShuffleBlockResolver resolver;
    /** Shared with Spark's manager, which removes the files of these map outputs. */
    private final ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle;

    private @Nullable DriverEndpoint registry;
    /** Read by the thread of each report, which must not wait for {@link #stop()}. */
    private volatile @Nullable DriverReports reports;

    private boolean hasBegunReports;
    private boolean stopped;

    /**
     * Called by Spark through reflection, once in each process of the application.
     *
     * @throws IllegalArgumentException if a setting is invalid, or this host cannot hold the pool and it must not
     *     shrink; the message has the remedy
     */
    public RdmaShuffleManager(SparkConf conf, boolean isDriver) {
        this(conf, isDriver, RegistryWire.PLAIN);
    }

    /**
     * For managers that carry registry messages over something else than plain RPC.
     *
     * @throws IllegalArgumentException as above
     */
    protected RdmaShuffleManager(SparkConf conf, boolean isDriver, RegistryWire wire) {
        super(conf);
        this.wire = wire;
        this.conf = conf;
        this.isDriver = isDriver;
        this.isLocal = isDriver && conf.get("spark.master", "").matches("local(\\[.*])?");
        this.config = ShuffleSettings.read(conf);
        this.limits = ExecutorMemory.limits(config);
        Optional<String> unreachable = isDriver ? SortFallback.reasonOfExecutors(conf) : Optional.empty();
        if (unreachable.isPresent()) {
            // Executors get it before they create their shuffle manager.
            conf.set("spark.shuffle.manager", "sort");
        }
        String reason = SortFallback.reason(conf, config).or(() -> unreachable).orElse(null);
        this.reasonAgainstPool = reason;
        if (reason != null && isDriver) {
            LOG.warn("Using Spark's sort shuffle for this application: {}", reason);
        }
        if (reason != null) {
            this.runtime = null;
            this.resolver = null;
            this.mapIdsByShuffle = new ConcurrentHashMap<>();
            SortFallback.removeOwnDataIO(conf);
        } else {
            SparkLine spark = SparkSupport.of(RdmaShuffleManager.class.getClassLoader())
                    .line()
                    .get();
            this.mapIdsByShuffle = spark.mapIdsByShuffle(super.shuffleBlockResolver());
            ExecutorRuntime executor = new ExecutorRuntime(
                    spark,
                    conf,
                    config,
                    isLocal,
                    wire,
                    () -> mapIdsByShuffle.keySet().stream()
                            .map(Integer.class::cast)
                            .collect(Collectors.toSet()),
                    this::unregisterShuffle,
                    this::take);
            this.runtime = executor;
            this.resolver = spark.resolver(
                    conf,
                    mapIdsByShuffle,
                    files -> new PoolBlocks(
                            conf,
                            files,
                            mapIdsByShuffle,
                            new PoolBlocks.Parts(
                                    executor::storeOrNull,
                                    executor::incomingOrNull,
                                    executor::messagesOrNull,
                                    executor::inheritedOrNull),
                            executor::leavesOutputs,
                            RdmaShuffleManager::reportBlock,
                            executor.counters(),
                            config.get(ShuffleConfig.FETCH_VERIFY_CHECKSUM)));
            conf.set(PoolDataIO.KEY, PoolDataIO.class.getName());
            prepareMemory();
        }
    }

    /**
     * Executors get their pool now, so that a host that cannot hold it says so at start; that of a local driver is only
     * checked.
     */
    private void prepareMemory() {
        if (!isDriver) {
            runtime().memory();
        } else if (isLocal) {
            PoolSizing.on(conf, config, false);
        }
    }

    @Override
    public IndexShuffleBlockResolver shuffleBlockResolver() {
        IndexShuffleBlockResolver ours = resolver;
        return ours == null ? super.shuffleBlockResolver() : ours;
    }

    private ExecutorRuntime runtime() {
        return requirePool(runtime);
    }

    private IndexShuffleBlockResolver resolver() {
        return requirePool(resolver);
    }

    private <T> T requirePool(@Nullable T part) {
        if (part == null) {
            throw new IllegalStateException("this executor cannot use the RDMA shuffle (" + reasonAgainstPool
                    + "), but the driver does, so tasks fail here; correct that on this host, give driver and executors"
                    + " the same jar and Spark, or set spark.shuffle.rdma.fabric.mode=sort");
        }
        return part;
    }

    @Override
    public <K, V, C> ShuffleHandle registerShuffle(int shuffleId, ShuffleDependency<K, V, C> dependency) {
        beginReports(dependency.rdd().sparkContext());
        if (reasonAgainstPool == null) {
            limits.reasonAgainst(dependency.partitioner().numPartitions())
                    .ifPresent(reason -> LOG.warn("Shuffle {} uses Spark's shuffle files: {}", shuffleId, reason));
            if (!isLocal) {
                startRegistry(dependency);
            }
        }
        return isDirect(shuffleId, dependency)
                ? new DirectShuffleHandle<>(shuffleId, dependency, compressionOf(shuffleId))
                : super.registerShuffle(shuffleId, dependency);
    }

    private boolean isDirect(int shuffleId, ShuffleDependency<?, ?, ?> dependency) {
        if (reasonAgainstPool != null
                || !config.get(ShuffleConfig.DIRECT_ENABLED)
                || config.get(ShuffleConfig.FABRIC_MODE) == FabricMode.NETTY
                || limits.reasonAgainst(dependency.partitioner().numPartitions())
                        .isPresent()) {
            return false;
        }
        Optional<String> reason = DirectShuffleEligibility.reasonAgainst(conf, dependency);
        reason.ifPresent(why -> LOG.debug("Shuffle {} is not direct: {}", shuffleId, why));
        return reason.isEmpty();
    }

    /** A user who has set Spark's key has decided; that of a direct shuffle can only say no. */
    private NetworkCompression compressionOf(int shuffleId) {
        DriverEndpoint started = startedRegistry();
        return started == null || conf.contains(DirectShuffleEligibility.COMPRESS)
                ? NetworkCompression.OFF
                : started.compressionOf(shuffleId);
    }

    private synchronized @Nullable DriverEndpoint startedRegistry() {
        return registry;
    }

    @Override
    @SuppressWarnings("unchecked") // A handle has the types of its shuffle's registration.
    public <K, V> ShuffleWriter<K, V> getWriter(
            ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
        if (reasonAgainstPool == null) {
            runtime().ensureAnnounced();
        }
        if (handle instanceof DirectShuffleHandle<?, ?, ?> direct) {
            rememberMap(handle.shuffleId(), mapId);
            WriteServices services = new WriteServices(
                    runtime().spark(),
                    conf,
                    SparkEnv.get().blockManager(),
                    executorComponents(),
                    runtime().reportedSizes(),
                    runtime().isCompressed(direct));
            return new DirectShuffleWriter<>((DirectShuffleHandle<K, V, ?>) direct, mapId, context, metrics, services);
        }
        return super.getWriter(handle, mapId, context, metrics);
    }

    /** As Spark's manager does for its own writers, so that it removes files of this map output with its shuffle. */
    private void rememberMap(int shuffleId, long mapId) {
        OpenHashSet<Object> mapIds = mapIdsByShuffle.computeIfAbsent(
                shuffleId, id -> new OpenHashSet<>(16, ClassTag$.MODULE$.apply(Long.TYPE)));
        synchronized (mapIds) {
            mapIds.add(mapId);
        }
    }

    @Override
    @SuppressWarnings("unchecked")
    public <K, C> ShuffleReader<K, C> getReader(
            ShuffleHandle handle,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition,
            TaskContext context,
            ShuffleReadMetricsReporter metrics) {
        BaseShuffleHandle<K, ?, C> base = (BaseShuffleHandle<K, ?, C>) handle;
        if (reasonAgainstPool != null || base.dependency().isShuffleMergeFinalizedMarked()) {
            return super.getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics);
        }
        ReadServices services = runtime().readServices();
        if (startMapIndex == 0 && endMapIndex == Integer.MAX_VALUE) {
            // Peers answer in less time than it takes to ask the driver which of them have some of it.
            services.lookUpEarly(handle.shuffleId());
        }
        Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks = services.env()
                .mapOutputTracker()
                .getMapSizesByExecutorId(handle.shuffleId(), startMapIndex, endMapIndex, startPartition, endPartition);
        boolean inBatches = SortShuffleManager$.MODULE$.canUseBatchFetch(startPartition, endPartition, context);
        return new RdmaShuffleReader<>(base, blocks, context, metrics, services, inBatches);
    }

    @Override
    public boolean unregisterShuffle(int shuffleId) {
        ExecutorRuntime running = runtime;
        if (running != null) {
            running.removeShuffle(shuffleId);
        }
        DriverEndpoint started = startedRegistry();
        if (started != null) {
            started.forgetShuffle(shuffleId);
        }
        return super.unregisterShuffle(shuffleId);
    }

    @Override
    public void stop() {
        synchronized (this) {
            if (stopped) {
                return;
            }
            stopped = true;
            ExecutorRuntime.closeOrWarn("reports", reports);
            if (runtime != null) {
                runtime.close();
                ExecutorRuntime.closeOrWarn("registry", registry);
                if (isDriver) {
                    ExecutorRuntime.closeOrWarn(
                            "pool directory",
                            () -> Pool.removeAbandoned(
                                    Path.of(config.get(ShuffleConfig.POOL_DIRECTORY)), conf.get("spark.app.id", "")));
                }
            }
        }
        super.stop();
    }

    /** Asks every executor for its counters; driver only. */
    public ClusterStatistics statistics(Duration timeout) {
        DriverEndpoint started = startedRegistry();
        ClusterStatistics members =
                started == null ? new ClusterStatistics(Map.of(), Set.of(), 0) : started.collectStatistics(timeout);
        ExecutorRuntime running = runtime;
        if (running == null || !running.hasMemory()) {
            return members;
        }
        Map<String, Map<ShuffleCounter, Long>> all = new HashMap<>(members.byExecutor());
        all.putIfAbsent(SparkEnv.get().executorId(), running.statistics());
        return new ClusterStatistics(all, members.silent(), members.registryMessages());
    }

    /** Returns the reason why Spark's sort shuffle serves the application; empty if it does not. */
    public Optional<String> reasonAgainstPool() {
        return Optional.ofNullable(reasonAgainstPool);
    }

    /**
     * Joins the other executors, if this one has not, and reads from some of them as tasks do; for {@code
     * ClusterDoctor}.
     *
     * @param executorIds executors to read from; if empty, this only joins
     * @throws InterruptedIOException if the task is killed meanwhile
     */
    public List<PathProbe> probe(List<String> executorIds) throws InterruptedIOException {
        return runtime().probe(executorIds);
    }

    @Override
    public PoolExecutorComponents executorComponents() {
        return runtime().executorComponents(resolver());
    }

    /** Spark knows migrated blocks as files on disk, wherever they are. */
    private static void reportBlock(BlockId blockId, long bytes) {
        BlockStatus onDisk = new BlockStatus(StorageLevel.DISK_ONLY(), 0, bytes);
        SparkEnv.get().blockManager().reportBlockStatus(blockId, onDisk, 0);
    }

    private synchronized void startRegistry(ShuffleDependency<?, ?, ?> dependency) {
        if (registry == null && !stopped) {
            registry = new DriverEndpoint(
                    dependency.rdd().sparkContext(), SparkEnv.get().rpcEnv(), config, wire, report -> {
                        boolean unused = take(report);
                    });
        }
    }

    /** Metrics, events and user interface are not worth an application: what fails there is said, and done without. */
    private synchronized void beginReports(SparkContext context) {
        if (hasBegunReports || stopped) {
            return;
        }
        hasBegunReports = true;
        try {
            reports = new DriverReports(
                    context, config, ApplicationSettings.of(config, reasonAgainstPool), this::collectReports);
        } catch (RuntimeException | LinkageError e) {
            LOG.warn("Driver metrics, events and the UI tab of the RDMA shuffle are unavailable", e);
        }
    }

    private boolean take(Report report) {
        DriverReports begun = reports;
        if (begun != null) {
            begun.take(report);
        }
        return true;
    }

    private void collectReports() {
        ExecutorRuntime running = runtime;
        DriverEndpoint started = startedRegistry();
        if (started != null) {
            started.collectReports(LAST_REPORTS_TIMEOUT);
        }
        if (running != null && isLocal && running.hasMemory()) {
            boolean unused = take(running.report(Occasion.STOPPED));
        }
    }
}
