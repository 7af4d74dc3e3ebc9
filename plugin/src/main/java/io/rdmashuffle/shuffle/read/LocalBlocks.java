// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks in this executor's own pool; a reference keeps each where it is until it is closed. What was found ahead is
 * held without one: memory that is freed meanwhile, since the output has moved or its shuffle is gone, gives none.
 */
final class LocalBlocks implements BlockSource {
    private static final Logger LOG = LoggerFactory.getLogger(LocalBlocks.class);

    private final MapOutputStore store;
    private final FoundAhead<MapOutput> ahead =
            new FoundAhead<>(output -> output.entry().mapId());

    LocalBlocks(MapOutputStore store) {
        this.store = store;
    }

    @Override
    public boolean lookUp(WantedBlock wanted) {
        MapOutput output = store.find(wanted.id().shuffleId(), wanted.id().mapId());
        if (output != null) {
            ahead.add(output);
        }
        return output != null;
    }

    @Override
    public @Nullable InPlaceBlock<StoredBlock> find(WantedBlock wanted) {
        ShuffleBlockId id = wanted.id();
        MapOutput output = acquire(id);
        if (output == null) {
            return null;
        }
        try {
            StoredBlock bytes = output.block(id.reduceId());
            // Spark asks for no empty blocks: an index that says so was overwritten.
            if (bytes.lengthBytes() > 0) {
                return new InPlaceBlock<>(bytes, () -> true, output::release);
            }
            LOG.warn("The index of {} in the pool is damaged: an empty block was asked for", id);
        } catch (IOException e) {
            LOG.warn("Cannot read {} in the pool", id, e);
        }
        output.release();
        return null;
    }

    private @Nullable MapOutput acquire(ShuffleBlockId id) {
        MapOutput found = ahead.get(id.mapId());
        return found != null && found.retain() ? found : store.acquire(id.shuffleId(), id.mapId());
    }

    @Override
    public ShuffleCounter counter() {
        return ShuffleCounter.LOCAL_BYTES;
    }

    @Override
    public void close() {}
}
