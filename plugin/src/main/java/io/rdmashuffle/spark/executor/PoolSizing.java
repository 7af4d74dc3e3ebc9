// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.conf.Hugepages;
import io.rdmashuffle.conf.OnShortage;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.memory.HostLimits;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolApplication;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.RegionListener;
import io.rdmashuffle.spark.support.KeptOutputs;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Size of this process's pool: as configured, or the largest that the host can hold.
 *
 * <p><b>Threading:</b> immutable but for the list of shortages, which one thread fills.
 */
public final class PoolSizing {
    private static final Logger LOG = LoggerFactory.getLogger(PoolSizing.class);
    private static final long MEBIBYTE = 1 << 20;
    /** Linux allows a process little more mappings. */
    private static final long MAX_REGIONS = 1 << 16;

    private final PoolSettings settings;
    private final boolean mayShrink;
    private final long freeBytes;
    private final List<String> shortages;

    private PoolSizing(PoolSettings settings, boolean mayShrink, long freeBytes, List<String> shortages) {
        this.settings = settings;
        this.mayShrink = mayShrink;
        this.freeBytes = freeBytes;
        this.shortages = new ArrayList<>(shortages);
    }

    /**
     * Compares the configuration to this host, after memory of dead processes was freed. If the pool may not shrink,
     * pools of ended executors of the application are removed for it.
     *
     * @param hasPeers whether other executors may read the pool, also when this process has ended
     * @throws IllegalArgumentException if the host has less and {@code spark.shuffle.rdma.pool.onShortage=fail}; the
     *     message has the remedy
     */
    public static PoolSizing on(SparkConf conf, ShuffleConfig config, boolean hasPeers) {
        return on(conf, config, hasPeers, System::getenv, wanted -> HostLimits.read(wanted, otherBytes(conf)));
    }

    /** Does so with another environment and other limits of the host; for tests. */
    static PoolSizing on(
            SparkConf conf,
            ShuffleConfig config,
            boolean hasPeers,
            UnaryOperator<@Nullable String> environment,
            Function<PoolSettings, HostLimits> limitsOf) {
        PoolSettings wanted = new PoolSettings(
                Path.of(config.get(ShuffleConfig.POOL_DIRECTORY)),
                config.get(ShuffleConfig.POOL_MAX_SIZE),
                config.get(ShuffleConfig.POOL_INITIAL_SIZE),
                config.get(ShuffleConfig.POOL_REGION_SIZE),
                config.get(ShuffleConfig.POOL_HUGEPAGES) == Hugepages.ADVISE,
                hasPeers && new SparkSettings(key -> conf.get(key, null)).keepsOutputs(config)
                        ? application(conf, config, environment)
                        : null);
        boolean mayShrink = config.get(ShuffleConfig.POOL_ON_SHORTAGE) == OnShortage.SHRINK;
        HostLimits limits;
        try {
            Pool.removeAbandoned(wanted);
            limits = limitsOf.apply(wanted);
        } catch (UncheckedIOException e) {
            if (!mayShrink) {
                throw e;
            }
            return new PoolSizing(wanted, true, 0, List.of(String.valueOf(e.getMessage())));
        }
        List<String> found = shortages(limits, wanted);
        // Files are not what a container lacks.
        boolean mayHelp = !found.isEmpty() && limits.containerShortage(wanted).isEmpty();
        if (mayHelp && !mayShrink && removeEnded(wanted) > 0) {
            limits = limitsOf.apply(wanted);
            found = shortages(limits, wanted);
        }
        if (!found.isEmpty() && !mayShrink) {
            throw new IllegalArgumentException(String.join("; ", found));
        }
        return new PoolSizing(
                limits.fitted(wanted, leastRegionBytes(config, wanted.pageBytes())),
                mayShrink,
                limits.directoryFreeBytes(),
                found);
    }

    /** Removes pools of ended executors of the application, whose map outputs Spark writes again; returns how many. */
    private static int removeEnded(PoolSettings wanted) {
        PoolApplication own = wanted.application();
        return own == null ? 0 : Pool.removeAbandoned(wanted.directory(), own.id());
    }

    private static List<String> shortages(HostLimits limits, PoolSettings wanted) {
        return Stream.of(limits.containerShortage(wanted), limits.directoryShortage(wanted))
                .flatMap(Optional::stream)
                .toList();
    }

    /**
     * Returns the minimum size of a region, so that it holds a page and a chunk, the first table leaves room in it, and
     * regions are not too many.
     */
    static long leastRegionBytes(ShuffleConfig config, long pageBytes) {
        long table = MapOutputDirectory.firstTableBytes(config.get(ShuffleConfig.DIRECTORY_MAX_SHUFFLES));
        return LongStream.of(
                        MEBIBYTE,
                        pageBytes,
                        config.get(ShuffleConfig.POOL_CHUNK_SIZE),
                        4 * table,
                        config.get(ShuffleConfig.POOL_MAX_SIZE) / MAX_REGIONS)
                .max()
                .orElseThrow();
    }

    /** Returns the application that the pool may outlive this process in; null if it cannot. */
    private static @Nullable PoolApplication application(
            SparkConf conf, ShuffleConfig config, UnaryOperator<@Nullable String> environment) {
        Path directory = ApplicationDirectory.find(environment).orElse(null);
        if (directory == null && !outlivesPod(conf, config, environment.apply("SPARK_LOCAL_DIRS"))) {
            if (conf.contains(ShuffleConfig.OUTLIVE_ENABLED.key())) {
                LOG.warn("Map outputs do not outlive this process: the cluster manager has given it no directory of the"
                        + " application, and not all of its directories are on hostPath volumes of Kubernetes"
                        + " (spark.shuffle.rdma.outlive.enabled)");
            }
            return null;
        }
        return new PoolApplication(conf.get("spark.app.id"), directory);
    }

    /**
     * Returns whether memory and disk tier are on volumes that outlive an executor's pod.
     *
     * @param localDirectories of the pod, as Spark sets them in its environment; null outside of pods
     */
    static boolean outlivesPod(SparkConf conf, ShuffleConfig config, @Nullable String localDirectories) {
        return localDirectories != null
                && KeptOutputs.isOnNode(conf, Path.of(config.get(ShuffleConfig.POOL_DIRECTORY)))
                && (!config.get(ShuffleConfig.DISK_ENABLED)
                        || Stream.of(localDirectories.split(",", -1))
                                .allMatch(each -> KeptOutputs.isOnNode(conf, Path.of(each))));
    }

    /** Returns the configured memory of the container in addition to heap and pool. */
    private static long otherBytes(SparkConf conf) {
        long offHeap = conf.getBoolean("spark.memory.offHeap.enabled", false)
                ? conf.getSizeAsBytes("spark.memory.offHeap.size", "0")
                : 0;
        return offHeap + conf.getSizeAsMb("spark.executor.pyspark.memory", "0") * MEBIBYTE;
    }

    /** Returns the settings of the pool, which may find less memory, and grow later. */
    PoolSettings settings() {
        return settings;
    }

    /** Returns the free bytes of the pool's directory before the pool was created. */
    long freeBytes() {
        return freeBytes;
    }

    boolean mayShrink() {
        return mayShrink;
    }

    /** Creates the pool; with less than its initial size, or nothing, where that is all that can be had. */
    Pool create(RegionListener listener) {
        return mayShrink ? Pool.createWhatFits(settings, listener, this::addShortage) : Pool.create(settings, listener);
    }

    /** Records why the pool is smaller than configured; what follows from a reason that is known is no other one. */
    void addShortage(String reason) {
        if (shortages.isEmpty()) {
            shortages.add(reason);
        }
    }

    /** Returns the reasons why the pool is smaller than configured, with remedies; empty if it is not. */
    Optional<String> shortage() {
        return shortages.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", shortages));
    }
}
