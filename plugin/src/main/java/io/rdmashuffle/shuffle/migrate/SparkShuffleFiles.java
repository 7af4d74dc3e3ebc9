// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.spark.compat.SparkBlocks;
import io.rdmashuffle.store.OutputKey;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentMap;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import org.apache.spark.util.collection.OpenHashSet;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.reflect.ClassTag$;

/**
 * Spark's shuffle files of this executor, as migrated map outputs use them.
 *
 * <p><b>Threading:</b> thread-safe, as the resolver is.
 */
public final class SparkShuffleFiles implements MigrationTarget {
    private static final int INITIAL_MAP_IDS = 8;

    private final SparkBlocks spark;
    private final IndexShuffleBlockResolver resolver;
    private final ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle;
    private final BlockReports reports;
    private final OptionalLong maxDiskBytes;

    /** Reports of moved blocks to the driver. */
    public interface BlockReports {
        /** Returns after the driver has acknowledged it. */
        void report(BlockId blockId, long bytes);
    }

    /**
     * Creates what writes files.
     *
     * @param mapIdsByShuffle shared with Spark's sort manager, which deletes the files of these map ids
     */
    public SparkShuffleFiles(
            SparkConf conf,
            SparkBlocks spark,
            ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle,
            BlockReports reports) {
        this.spark = spark;
        this.resolver = spark.resolver();
        this.mapIdsByShuffle = mapIdsByShuffle;
        this.reports = reports;
        Option<?> max = (Option<?>) conf.get(package$.MODULE$.STORAGE_DECOMMISSION_SHUFFLE_MAX_DISK_SIZE());
        this.maxDiskBytes = max.isDefined() ? OptionalLong.of((Long) max.get()) : OptionalLong.empty();
    }

    @Override
    public void requireDiskRoom() throws IOException {
        if (maxDiskBytes.isEmpty()) {
            return;
        }
        long used = 0;
        for (ShuffleBlockInfo output : spark.getStoredShuffles()) {
            File data = resolver.getDataFile(output.shuffleId(), output.mapId());
            // A link leads to the pool.
            used += Files.isSymbolicLink(data.toPath()) ? 0 : data.length();
        }
        if (used > maxDiskBytes.getAsLong()) {
            throw new IOException("the pool is full and shuffle files take " + used + " bytes, more than"
                    + " spark.storage.decommission.shuffleBlocks.maxDiskSize=" + maxDiskBytes.getAsLong());
        }
    }

    @Override
    public File createDataFile(OutputKey key) {
        return resolver.createTempFile(resolver.getDataFile(key.shuffleId(), key.mapId()));
    }

    @Override
    public void commitFiles(OutputKey key, long[] lengths, @Nullable File data) throws IOException {
        // Spark keeps files that are there already if they are of the same lengths, and writes lengths in that case.
        resolver.writeMetadataFileAndCommit(key.shuffleId(), key.mapId(), lengths.clone(), new long[0], data);
        OpenHashSet<Object> mapIds = mapIdsByShuffle.computeIfAbsent(
                key.shuffleId(), id -> new OpenHashSet<>(INITIAL_MAP_IDS, ClassTag$.MODULE$.apply(Long.TYPE)));
        synchronized (mapIds) {
            mapIds.add$mcJ$sp(key.mapId());
        }
    }

    @Override
    public void removeFiles(OutputKey key) {
        resolver.removeDataByMap(key.shuffleId(), key.mapId());
    }

    @Override
    public void report(OutputKey key, long dataBytes, long indexBytes) {
        if (dataBytes > 0) {
            // Dynamic allocation counts data blocks when it asks which executors hold shuffles.
            reports.report(OutgoingOutputs.dataBlockId(key), dataBytes);
        }
        // Moves the map output's location at the driver's tracker.
        reports.report(OutgoingOutputs.indexBlockId(key), indexBytes);
    }
}
