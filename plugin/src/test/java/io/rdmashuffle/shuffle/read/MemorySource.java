// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Blocks in memory of a test, by map id, that knows how many of them are in use. */
final class MemorySource implements BlockSource {
    private final Map<Long, StoredBlock> blocks = new HashMap<>();
    private boolean current = true;
    private int open;
    private boolean closed;

    void put(long mapId, StoredBlock block) {
        blocks.put(mapId, block);
    }

    /** Invalidates all blocks. */
    void withdraw() {
        current = false;
    }

    int open() {
        return open;
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public @Nullable Block find(BlockRequest block) {
        StoredBlock bytes = blocks.get(block.id().mapId());
        if (bytes == null) {
            return null;
        }
        open++;
        return new Block(bytes, () -> current, () -> open--);
    }

    @Override
    public ShuffleCounter counter() {
        return ShuffleCounter.SHM_BYTES;
    }

    @Override
    public void close() {
        closed = true;
    }
}
