// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A block in memory that its owner may reuse at any time, after it has copied the block elsewhere or removed it.
 *
 * <p><b>Threading:</b> thread-safe.
 */
@FunctionalInterface
public interface MovingBytes {
    /**
     * Returns the new location of the block, after its old location was found to be reused; null if it is gone. Places
     * that were returned stay mapped until who reads the block has ended.
     *
     * @throws IOException if it lies on disk and cannot be read
     */
    @Nullable
    Place moved(Place from) throws IOException;

    /**
     * Location of a block, current or former.
     *
     * @param pieces in order
     * @param current whether all bytes read there so far belonged to the block
     */
    record Place(List<StoredSlice> pieces, BooleanSupplier current) {
        /** Returns a place that the block keeps as long as a reference is held. */
        static Place lasting(List<StoredSlice> pieces) {
            return new Place(pieces, () -> true);
        }

        long lengthBytes() {
            return pieces.stream().mapToLong(StoredSlice::lengthBytes).sum();
        }
    }
}
