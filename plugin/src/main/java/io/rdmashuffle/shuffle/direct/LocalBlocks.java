package io.rdmashuffle.shuffle.direct;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryFormatException;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.shuffle.MapOutputStore;
import io.rdmashuffle.shuffle.ShuffleCounter;
import io.rdmashuffle.shuffle.SliceInputStream;
import java.util.List;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks in this executor's own pool; a reference keeps each where it is while it is open.
 *
 * @param store has them
 * @param verify whether to compare them with their checksums
 */
record LocalBlocks(MapOutputStore store, boolean verify) implements BlockSource {
    private static final Logger LOG = LoggerFactory.getLogger(LocalBlocks.class);

    @Override
    public @Nullable OpenBlock open(WantedBlock wanted) {
        ShuffleBlockId id = wanted.id();
        MapOutput output = store.acquire(id.shuffleId(), id.mapId());
        if (output == null) {
            return null;
        }
        boolean opened = false;
        try {
            BlockRange range = output.range(id.reduceId(), id.reduceId() + 1);
            List<MemorySlice> bytes = output.memory(range);
            if (verify && !range.matches(bytes)) {
                LOG.warn("wrong checksum of {} in the pool", id);
                return null;
            }
            opened = true;
            return new OpenBlock(
                    SliceInputStream.over(bytes, () -> true),
                    range.lengthBytes(),
                    ShuffleCounter.LOCAL_BYTES,
                    output::release);
        } catch (DirectoryFormatException e) {
            LOG.warn("cannot read {} in the pool", id, e);
            return null;
        } finally {
            if (!opened) {
                output.release();
            }
        }
    }

    @Override
    public void close() {}
}
