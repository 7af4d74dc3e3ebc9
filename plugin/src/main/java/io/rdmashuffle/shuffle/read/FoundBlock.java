package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.StoredBlock;
import java.util.function.BooleanSupplier;

/**
 * A block in memory that this process sees.
 *
 * <p><b>Ownership:</b> closing lets its memory go.
 *
 * @param bytes where they lie
 * @param current says whether what was read until now was the block: a peer may give its memory away at any time
 * @param memory what closing gives back
 */
record FoundBlock(StoredBlock bytes, BooleanSupplier current, Runnable memory) implements AutoCloseable {
    @Override
    public void close() {
        memory.run();
    }
}
