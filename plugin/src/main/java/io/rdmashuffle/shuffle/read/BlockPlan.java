// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.StoredRange;
import io.rdmashuffle.store.ShuffleCounter;

/** How one block of a fetch is to be brought here. */
sealed interface BlockPlan {
    /** Over Spark's block transfer, because there is no one-sided way. */
    Netty NETTY = new Netty(ShuffleCounter.NETTY_BYTES);

    /**
     * The peer's memory is used where it is.
     *
     * @param block owned by whoever carries the plan out
     */
    record InPlace(InPlaceBlock<StoredRange> block) implements BlockPlan {}

    /**
     * The fabric reads the block into a lease.
     *
     * @param range where the bytes are
     */
    record Copy(BlockRange range) implements BlockPlan {}

    /**
     * Spark's block transfer fetches it.
     *
     * @param counter counts its bytes
     */
    record Netty(ShuffleCounter counter) implements BlockPlan {}
}
