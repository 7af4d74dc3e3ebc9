// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.store.ShuffleCounter;
import org.jspecify.annotations.Nullable;

/**
 * Memory in which blocks of one executor can be read.
 *
 * <p><b>Threading:</b> one task thread. <b>Ownership:</b> found blocks are closed before their source.
 */
interface BlockSource extends AutoCloseable {
    /**
     * Looks a block's map output up; returns whether it is in this memory as far as is known. The answer is one for all
     * of its blocks. A source in which blocks are read where they are remembers where the map output lies, for
     * {@link #find}, which takes map outputs in the order in which they were looked up.
     */
    boolean lookUp(WantedBlock wanted);

    /** Finds a block; null if it is not there: then Spark's fetch brings it, or fails as Spark does. */
    @Nullable
    InPlaceBlock<StoredBlock> find(WantedBlock wanted);

    /** Takes note that a block was not what it should be, so that the next look at it is not at what is remembered. */
    default void damaged(WantedBlock wanted) {}

    /** Returns what counts the bytes that are read here. */
    ShuffleCounter counter();

    @Override
    void close();
}
