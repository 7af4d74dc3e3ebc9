// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.serve;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.StoredRange;
import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.memory.slice.ReferenceCounted;
import io.rdmashuffle.peer.InheritedPools;
import io.rdmashuffle.peer.InheritedPools.Inherited;
import io.rdmashuffle.shuffle.BlockKey;
import io.rdmashuffle.shuffle.buffer.SliceManagedBuffer;
import io.rdmashuffle.shuffle.migrate.IncomingOutputs;
import io.rdmashuffle.shuffle.migrate.OutgoingOutputs;
import io.rdmashuffle.shuffle.migrate.SparkShuffleFiles;
import io.rdmashuffle.shuffle.migrate.SparkShuffleFiles.BlockReports;
import io.rdmashuffle.spark.compat.ShuffleBlocks;
import io.rdmashuffle.spark.compat.SparkBlocks;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.File;
import java.io.IOException;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentMap;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import org.apache.spark.util.collection.OpenHashSet;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.Tuple2;

/**
 * Resolver of blocks of this executor, in the pool or in Spark's files: for its own tasks, and for peers that ask
 * through Spark's block transfer.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class PoolBlocks implements ShuffleBlocks {
    /** As many as Spark remembers itself. */
    private static final int MAX_SKIPPED = 1000;

    private final SparkBlocks spark;
    private final Parts parts;
    private final BooleanSupplier leavesOutputs;
    private final ShuffleCounters counters;
    private final boolean verify;
    private final SparkShuffleFiles files;
    private final boolean hasFallbackStorage;
    private final Set<Integer> shufflesToSkip = Collections.synchronizedSet(new LinkedHashSet<>());
    private final Object writingFiles = new Object();
    /** Guarded by {@link #writingFiles}: whether the thread that holds it is writing files already. */
    private boolean isWritingFiles;

    /**
     * Parts of a process that have blocks, each null as long as there is none.
     *
     * @param store outputs in the pool
     * @param incoming receiver of outputs of decommissioned executors
     * @param reserved blocks of the reserved shuffle
     * @param inherited pools of ended executors
     */
    public record Parts(
            Supplier<@Nullable MapOutputStore> store,
            Supplier<@Nullable IncomingOutputs> incoming,
            Supplier<@Nullable ReservedShuffle> reserved,
            Supplier<@Nullable InheritedPools> inherited) {}

    /**
     * Creates the blocks of one executor.
     *
     * @param spark those in Spark's files
     * @param mapIdsByShuffle shared with Spark's sort manager, which deletes the files of these map ids
     * @param parts of this process that have blocks
     * @param leavesOutputs whether others will serve the outputs in the pool when this process has ended; asked while
     *     it is being decommissioned, and may wait for the driver
     * @param reports reports moved outputs to the driver
     * @param verify whether to verify checksums before a block is served
     */
    public PoolBlocks(
            SparkConf conf,
            SparkBlocks spark,
            ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle,
            Parts parts,
            BooleanSupplier leavesOutputs,
            BlockReports reports,
            ShuffleCounters counters,
            boolean verify) {
        this.spark = spark;
        this.parts = parts;
        this.leavesOutputs = leavesOutputs;
        this.files = new SparkShuffleFiles(conf, spark, mapIdsByShuffle, reports);
        this.hasFallbackStorage = conf.contains("spark.storage.decommission.fallbackStorage.path");
        this.counters = counters;
        this.verify = verify;
    }

    /** {@inheritDoc} Checks the block's checksums first: a damaged one is an {@link IOException}, never wrong rows. */
    @Override
    public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> dirs) {
        if (ReservedShuffle.isOf(blockId)) {
            return reserved(blockId).get(blockId);
        }
        BlockKey key = BlockKey.of(blockId).orElse(null);
        MapOutputStore outputs = parts.store().get();
        MapOutput output = key == null || outputs == null || dirs.isDefined()
                ? null
                : outputs.acquire(key.shuffleId(), key.mapId());
        ManagedBuffer fromHeir = key == null || output != null || dirs.isDefined() ? null : inherited(key);
        if (fromHeir != null) {
            return fromHeir;
        }
        if (key == null || output == null) {
            ManagedBuffer fromFile = spark.getBlockData(blockId, dirs);
            countIfTask(ShuffleCounter.FILE_BYTES, fromFile.size());
            return fromFile;
        }
        ManagedBuffer fromPool = poolBlock(key, output);
        countIfTask(ShuffleCounter.LOCAL_BYTES, fromPool.size());
        return fromPool;
    }

    /** Spark answers a peer with what this throws. */
    private ReservedShuffle reserved(BlockId blockId) {
        ReservedShuffle shuffle = parts.reserved().get();
        if (shuffle == null) {
            throw Unchecked.raise(new IOException("no answer to " + blockId + ": this executor has not joined yet"));
        }
        return shuffle;
    }

    /** Verifies the bytes under the caller's reference; the user of the buffer acquires its own. */
    private ManagedBuffer poolBlock(BlockKey key, MapOutput output) {
        try {
            return verified(key, output.stored(key.start(), key.end()), output);
        } catch (IOException e) {
            throw Unchecked.raise(e);
        } finally {
            output.release();
        }
    }

    /** Returns a block of an executor that has ended; null if no pool that was inherited has it. */
    private @Nullable ManagedBuffer inherited(BlockKey key) {
        InheritedPools pools = parts.inherited().get();
        if (pools == null || pools.count() == 0) {
            return null;
        }
        Inherited block =
                pools.find(key.shuffleId(), key.mapId(), key.start(), key.end()).orElse(null);
        if (block == null) {
            return null;
        }
        try {
            return verified(key, block.range(), block.pool());
        } catch (IOException e) {
            throw Unchecked.raise(e);
        } finally {
            block.pool().release();
        }
    }

    private ManagedBuffer verified(BlockKey key, StoredRange block, ReferenceCounted owner) throws IOException {
        if (verify && !block.isIntact()) {
            counters.add(ShuffleCounter.CHECKSUM_FAILURES, 1);
            throw new IOException("checksum of " + key + " is wrong: the pool's memory was overwritten");
        }
        return new SliceManagedBuffer(block.pieces(), owner);
    }

    /** Peers' requests come on transport threads; the reader counts those, by its own path. */
    private void countIfTask(ShuffleCounter counter, long bytes) {
        if (TaskContext.get() != null) {
            counters.add(counter, bytes);
        }
    }

    /** {@inheritDoc} Those in files, and those in the pool unless others will serve that. */
    @Override
    public Collection<ShuffleBlockInfo> getStoredShuffles() {
        Set<ShuffleBlockInfo> stored = new LinkedHashSet<>(spark.getStoredShuffles());
        MapOutputStore outputs = parts.store().get();
        if (outputs != null && !leavesOutputs.getAsBoolean()) {
            outputs.pooled().forEach((shuffleId, mapIds) -> {
                if (!shufflesToSkip.contains(shuffleId)) {
                    mapIds.forEach(mapId -> stored.add(new ShuffleBlockInfo(shuffleId, mapId)));
                }
            });
        }
        return stored;
    }

    /** {@inheritDoc} Called when a query is done with its shuffles, so that these are not migrated. */
    @Override
    public void addShuffleToSkip(int shuffleId) {
        spark.addShuffleToSkip(shuffleId);
        synchronized (shufflesToSkip) {
            shufflesToSkip.add(shuffleId);
            if (shufflesToSkip.size() > MAX_SKIPPED) {
                shufflesToSkip.remove(shufflesToSkip.iterator().next());
            }
        }
    }

    /** {@inheritDoc} From the pool, with checksums in the index, or else Spark's files as they are. */
    @Override
    public List<Tuple2<BlockId, ManagedBuffer>> getMigrationBlocks(ShuffleBlockInfo output) {
        MapOutputStore outputs = parts.store().get();
        List<Tuple2<BlockId, ManagedBuffer>> blocks = outputs == null
                ? null
                : new OutgoingOutputs(outputs).blocks(new OutputKey(output.shuffleId(), output.mapId()));
        return blocks == null ? spark.getMigrationBlocks(output) : blocks;
    }

    /** {@inheritDoc} Into the pool if that has room; see {@link IncomingOutputs}. */
    @Override
    public StreamCallbackWithID putShuffleBlockAsStream(BlockId blockId, SerializerManager serializerManager) {
        if (ReservedShuffle.isOf(blockId)) {
            return reserved(blockId).receive(blockId);
        }
        IncomingOutputs outputs = parts.incoming().get();
        try {
            return outputs == null
                    ? spark.putShuffleBlockAsStream(blockId, serializerManager)
                    : outputs.receive(blockId, files);
        } catch (IOException e) {
            throw Unchecked.raise(e);
        }
    }

    /**
     * {@inheritDoc} Spark's fallback storage copies files only, so with one an output in the pool is written when asked
     * for.
     */
    @Override
    public File getIndexFile(int shuffleId, long mapId, Option<String[]> dirs) {
        File index = spark.getIndexFile(shuffleId, mapId, dirs);
        if (hasFallbackStorage && dirs.isEmpty() && !index.exists()) {
            writeFiles(new OutputKey(shuffleId, mapId));
        }
        return index;
    }

    /** Writing files asks for the index file again; that nested call returns at once. */
    private void writeFiles(OutputKey key) {
        MapOutputStore outputs = parts.store().get();
        if (outputs == null || !outputs.isPooled(key.shuffleId(), key.mapId())) {
            return;
        }
        synchronized (writingFiles) {
            if (isWritingFiles) {
                return;
            }
            isWritingFiles = true;
            try {
                new OutgoingOutputs(outputs).writeFiles(key, files);
            } catch (IOException e) {
                throw Unchecked.raise(e);
            } finally {
                isWritingFiles = false;
            }
        }
    }
}
