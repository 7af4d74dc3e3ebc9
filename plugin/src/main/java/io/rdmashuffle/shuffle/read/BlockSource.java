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
     * Returns whether a block's map output is in this memory as far as is known; the answer is one for all of its
     * blocks. Asked once for each map output, in the order in which those that are here are read: where it lies is
     * remembered until then.
     */
    boolean has(WantedBlock wanted);

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
