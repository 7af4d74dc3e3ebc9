package io.rdmashuffle.shuffle.direct;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.shuffle.MapOutputStore;
import io.rdmashuffle.shuffle.ShuffleCounter;
import java.io.IOException;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks in this executor's own pool; a reference keeps each where it is until it is closed.
 *
 * @param store has them
 */
record LocalBlocks(MapOutputStore store) implements BlockSource {
    private static final Logger LOG = LoggerFactory.getLogger(LocalBlocks.class);

    @Override
    public @Nullable FoundBlock find(WantedBlock wanted) {
        ShuffleBlockId id = wanted.id();
        MapOutput output = store.acquire(id.shuffleId(), id.mapId());
        if (output == null) {
            return null;
        }
        try {
            return new FoundBlock(output.block(id.reduceId()), () -> true, output::release);
        } catch (IOException e) {
            output.release();
            LOG.warn("cannot read {} in the pool", id, e);
            return null;
        }
    }

    @Override
    public ShuffleCounter counter() {
        return ShuffleCounter.LOCAL_BYTES;
    }

    @Override
    public void close() {}
}
