package io.rdmashuffle.shuffle;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.MemorySlice;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockId;
import org.apache.spark.util.collection.OpenHashSet;
import org.jspecify.annotations.Nullable;
import scala.Option;

/**
 * Finds blocks of this executor, in the pool or else in Spark's files: for its own tasks, and for peers that ask through
 * Spark's block transfer.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class PoolBlockResolver extends IndexShuffleBlockResolver {
    private final Supplier<@Nullable MapOutputStore> store;
    private final ShuffleCounters counters;
    private final boolean verify;

    /**
     * Creates the resolver of one executor.
     *
     * @param mapIdsByShuffle shared with Spark's sort manager, which deletes the files of these map ids
     * @param store the outputs in the pool; null while this process has none
     * @param verify whether to look at checksums before a block is handed out
     */
    public PoolBlockResolver(
            SparkConf conf,
            ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle,
            Supplier<@Nullable MapOutputStore> store,
            ShuffleCounters counters,
            boolean verify) {
        super(conf, null, mapIdsByShuffle);
        this.store = store;
        this.counters = counters;
        this.verify = verify;
    }

    /** {@inheritDoc} Checks the block's checksums first: a damaged one is an {@link IOException}, never wrong rows. */
    @Override
    public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> dirs) {
        BlockKey key = BlockKey.of(blockId).orElse(null);
        MapOutputStore outputs = store.get();
        MapOutput output = key == null || outputs == null || dirs.isDefined()
                ? null
                : outputs.acquire(key.shuffleId(), key.mapId());
        if (key == null || output == null) {
            ManagedBuffer fromFile = super.getBlockData(blockId, dirs);
            countIfTask(ShuffleCounter.FILE_BYTES, fromFile.size());
            return fromFile;
        }
        ManagedBuffer fromPool = poolBlock(key, output);
        countIfTask(ShuffleCounter.LOCAL_BYTES, fromPool.size());
        return fromPool;
    }

    private ManagedBuffer poolBlock(BlockKey key, MapOutput output) {
        boolean handedOut = false;
        try {
            BlockRange range = output.range(key.start(), key.end());
            List<MemorySlice> bytes = output.memory(range);
            if (verify && !range.matches(bytes)) {
                throw new IOException("checksum of " + key + " is wrong: the pool's memory was overwritten");
            }
            handedOut = true;
            return TaskContext.get() == null
                    ? new SliceManagedBuffer(bytes, output::release)
                    : SliceManagedBuffer.forLocalTask(bytes, output::release);
        } catch (IOException e) {
            throw sneaky(e);
        } finally {
            if (!handedOut) {
                output.release();
            }
        }
    }

    /** Peers' requests come on transport threads; the reader counts those, by its own path. */
    private void countIfTask(ShuffleCounter counter, long bytes) {
        if (TaskContext.get() != null) {
            counters.add(counter, bytes);
        }
    }

    /** Scala's methods throw checked exceptions without declaring them; callers here expect IOException. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> RuntimeException sneaky(Throwable e) throws E {
        throw (E) e;
    }
}
