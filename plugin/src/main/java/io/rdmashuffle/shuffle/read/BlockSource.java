// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.store.ShuffleCounter;
import org.jspecify.annotations.Nullable;

/**
 * Memory in which blocks of one executor are read: its own, mapped, or copied.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * <p><b>Ownership:</b> blocks are closed before their source.
 */
interface BlockSource extends AutoCloseable {
    /** Returns a block where it is now; null if it is not there, so that Spark's block transfer fetches it. */
    @Nullable
    Block find(BlockRequest request);

    /** Discards cached locations after a wrong checksum. */
    default void damaged(BlockRequest request) {}

    /** Returns the counter of bytes read here. */
    ShuffleCounter counter();

    @Override
    void close();
}
