package io.rdmashuffle.directory;

import io.rdmashuffle.memory.MemorySlice;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Shows the regions of one pool to somebody who follows its indexes. */
@FunctionalInterface
public interface RegionMemory {
    /**
     * Returns the whole of a region; null if the pool has none of that number.
     *
     * @throws IOException if it cannot be seen
     */
    @Nullable
    MemorySlice of(int regionId) throws IOException;
}
