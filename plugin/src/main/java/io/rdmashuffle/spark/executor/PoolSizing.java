// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.conf.Hugepages;
import io.rdmashuffle.conf.OnShortage;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.directory.MapOutputDirectory;
import io.rdmashuffle.memory.HostLimits;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.RegionListener;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;

/**
 * How large a pool this process may have: what is configured, or where the host cannot hold that, what can be had.
 *
 * <p><b>Threading:</b> immutable but for the list of shortages, which one thread fills.
 */
public final class PoolSizing {
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
     * Compares what is configured with what this host has, after what dead processes hold has been freed.
     *
     * @throws IllegalArgumentException if the host has less and {@code spark.shuffle.rdma.pool.onShortage=fail}; says
     *     what to raise
     */
    public static PoolSizing on(SparkConf conf, ShuffleConfig config) {
        PoolSettings wanted = new PoolSettings(
                Path.of(config.get(ShuffleConfig.POOL_DIRECTORY)),
                config.get(ShuffleConfig.POOL_MAX_SIZE),
                config.get(ShuffleConfig.POOL_INITIAL_SIZE),
                config.get(ShuffleConfig.POOL_REGION_SIZE),
                config.get(ShuffleConfig.POOL_HUGEPAGES) == Hugepages.ADVISE);
        boolean mayShrink = config.get(ShuffleConfig.POOL_ON_SHORTAGE) == OnShortage.SHRINK;
        HostLimits limits;
        try {
            Pool.removeAbandoned(wanted.directory());
            limits = HostLimits.read(wanted, otherBytes(conf));
        } catch (UncheckedIOException e) {
            if (!mayShrink) {
                throw e;
            }
            return new PoolSizing(wanted, true, 0, List.of(String.valueOf(e.getMessage())));
        }
        List<String> found = Stream.of(limits.containerShortage(wanted), limits.directoryShortage(wanted))
                .flatMap(Optional::stream)
                .toList();
        if (!found.isEmpty() && !mayShrink) {
            throw new IllegalArgumentException(String.join("; ", found));
        }
        return new PoolSizing(
                limits.fitted(wanted, leastRegionBytes(config, wanted.pageBytes())),
                mayShrink,
                limits.directoryFreeBytes(),
                found);
    }

    /**
     * Returns what a region must have so that it holds a page and a chunk, the first table leaves room in it, and
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

    /** Returns what is configured to take memory of the container beside heap and pool. */
    private static long otherBytes(SparkConf conf) {
        long offHeap = conf.getBoolean("spark.memory.offHeap.enabled", false)
                ? conf.getSizeAsBytes("spark.memory.offHeap.size", "0")
                : 0;
        return offHeap + conf.getSizeAsMb("spark.executor.pyspark.memory", "0") * MEBIBYTE;
    }

    /** Returns what the pool may be; it may find still less, and grow later. */
    PoolSettings settings() {
        return settings;
    }

    /** Returns what was free in the pool's directory before the pool was there. */
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

    /** Notes why the pool is smaller than configured; what follows from a reason that is known is no other one. */
    void addShortage(String reason) {
        if (shortages.isEmpty()) {
            shortages.add(reason);
        }
    }

    /** Returns why the pool is smaller than configured, with remedies; empty if it is not. */
    Optional<String> shortage() {
        return shortages.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", shortages));
    }
}
