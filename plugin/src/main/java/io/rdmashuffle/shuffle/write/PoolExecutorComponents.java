// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.shuffle.format.CodecCost;
import io.rdmashuffle.shuffle.format.FrameCodec;
import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.OutputRefusedException;
import io.rdmashuffle.store.PoolLimits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.api.ShuffleExecutorComponents;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.SingleSpillShuffleMapOutputWriter;
import org.apache.spark.util.TaskCompletionListener;
import org.jspecify.annotations.Nullable;

/**
 * Destination of map outputs of Spark's and direct writers: into the pool, or into ordinary files when that is full.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns nothing; the executor's parts that it was made from outlive it.
 */
public final class PoolExecutorComponents implements ShuffleExecutorComponents {
    private final TieredPool pool;
    private final MapOutputStore store;
    private final long chunkBytes;
    private final ShuffleExecutorComponents files;
    private final PoolLimits limits;
    private final CompressionChoice choice;

    /**
     * Creates the components of one executor.
     *
     * @param chunkBytes unit of growth of a map output
     * @param limits limits above which shuffles use files
     * @param choice choice of the codec for the disk tier
     * @param files initialized components for outputs that do not fit in the pool
     */
    public PoolExecutorComponents(
            TieredPool pool,
            MapOutputStore store,
            long chunkBytes,
            PoolLimits limits,
            CompressionChoice choice,
            ShuffleExecutorComponents files) {
        this.pool = pool;
        this.store = store;
        this.chunkBytes = chunkBytes;
        this.limits = limits;
        this.choice = choice;
        this.files = files;
    }

    @Override
    public void initializeExecutor(String appId, String execId, Map<String, String> extraConfigs) {}

    @Override
    public ShuffleMapOutputWriter createMapOutputWriter(int shuffleId, long mapTaskId, int numPartitions) {
        OutputKey key = new OutputKey(shuffleId, mapTaskId);
        return createOutputWriter(key, store.epoch(shuffleId), numPartitions, Destination.POOL_COMPRESSED, 0);
    }

    /** Returns {@link MapOutputStore#epoch}, for writers that start to write long after their tasks. */
    int epoch(int shuffleId) {
        return store.epoch(shuffleId);
    }

    /**
     * Returns the codec for a map output of that size: if the pool would exceed its limit for uncompressed bytes, or
     * the disk is slower than the codec. Null for uncompressed records.
     *
     * @param rows whether the records are rows of Spark SQL
     */
    @Nullable
    FrameCodec codecFor(long bytes, boolean rows) {
        DiskTier disk = pool.disk();
        if (disk == null) {
            return limits.leavesRoom(pool.memory().usage(), bytes) ? null : standardCodec(rows);
        }
        return limits.fits(pool.memory().usage(), bytes)
                ? null
                : choice.next(disk.pace().nanosPerByte(), rows);
    }

    /** Returns the codec of a map output that must be compressed. */
    FrameCodec standardCodec(boolean rows) {
        return choice.standard(rows);
    }

    /** Records the cost of compressing a map output. */
    void compressed(FrameCodec codec, CodecCost cost) {
        choice.compressed(codec, cost.rawBytes(), cost.storedBytes(), cost.nanos());
    }

    /**
     * Creates the writer of one map output.
     *
     * @param epoch when the task began
     * @param destination where to; into {@link Destination#POOL_BARE} it writes all or nothing, and throws
     *     {@link OutputRefusedException} where there is no room
     * @param bareBytes how many bytes the records have; a bare output asks for them at once, so that they lie in one
     *     piece where that is possible, a compressed one grows by chunks, since it needs fewer. 0 if that is not known
     */
    PoolMapOutputWriter createOutputWriter(
            OutputKey key, int epoch, int partitions, Destination destination, long bareBytes) {
        ChunkedOutput output = destination.isPooled()
                ? output(partitions, destination.isCompressed() ? 0 : bareBytes)
                : new ChunkedOutput(pool, chunkBytes, 0, true);
        PoolMapOutputWriter writer = new PoolMapOutputWriter(key, epoch, partitions, store, output, () -> {
            if (destination == Destination.POOL_BARE) {
                throw new OutputRefusedException("no room in the pool");
            }
            return files.createMapOutputWriter(key.shuffleId(), key.mapId(), partitions);
        });
        TaskContext task = TaskContext.get();
        if (task != null) {
            task.addTaskCompletionListener((TaskCompletionListener) ended -> writer.abandon());
        }
        return writer;
    }

    @Override
    public Optional<SingleSpillShuffleMapOutputWriter> createSingleFileMapOutputWriter(int shuffleId, long mapId) {
        return Optional.of(new PoolSingleSpillWriter(
                new OutputKey(shuffleId, mapId), store, partitions -> output(partitions, 0), () -> {
                    try {
                        return files.createSingleFileMapOutputWriter(shuffleId, mapId)
                                .orElseThrow(() -> new IllegalStateException(
                                        "LocalDiskShuffleExecutorComponents has no single-spill writer"));
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }));
    }

    private ChunkedOutput output(int partitions, long expectedBytes) {
        boolean refused = limits.reasonAgainst(partitions).isPresent();
        return new ChunkedOutput(pool, chunkBytes, expectedBytes, refused);
    }
}
