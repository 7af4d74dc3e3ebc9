// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.shuffle.read.BlockLocation.Elsewhere;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks in this executor's own pool, retained while they are read. A location holds no reference: if its memory was
 * freed since, because the output moved or its shuffle was removed, the store is asked again.
 */
final class LocalBlocks implements BlockSource {
    private static final Logger LOG = LoggerFactory.getLogger(LocalBlocks.class);

    private final MapOutputStore store;

    /**
     * A map output of this executor.
     *
     * @param output not retained
     */
    private record Local(MapOutput output) implements BlockLocation {}

    LocalBlocks(MapOutputStore store) {
        this.store = store;
    }

    /** Looks up the map output of a block. The store's lock is shared by all tasks of the executor. */
    BlockLocation locate(ShuffleBlockId id) {
        MapOutput output = store.find(id.shuffleId(), id.mapId());
        return output == null ? Elsewhere.UNKNOWN : new Local(output);
    }

    @Override
    public @Nullable Block find(BlockRequest request) {
        ShuffleBlockId id = request.id();
        MapOutput output =
                request.location() instanceof Local local && local.output().retain()
                        ? local.output()
                        : store.acquire(id.shuffleId(), id.mapId());
        if (output == null) {
            return null;
        }
        try {
            StoredBlock bytes = output.block(id.reduceId());
            // Spark requests no empty blocks: an index with one was overwritten.
            if (bytes.lengthBytes() > 0) {
                return new Block(bytes, () -> true, output::release);
            }
            LOG.warn(
                    "The index of {} in the pool is damaged: an empty block was requested; its map task is repeated if"
                            + " Spark's fetch fails, too",
                    id);
        } catch (IOException e) {
            LOG.warn("Cannot read {} in the pool; its map task is repeated if Spark's fetch fails, too", id, e);
        }
        output.release();
        return null;
    }

    @Override
    public ShuffleCounter counter() {
        return ShuffleCounter.LOCAL_BYTES;
    }

    @Override
    public void close() {}
}
