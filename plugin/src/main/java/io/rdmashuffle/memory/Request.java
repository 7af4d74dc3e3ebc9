// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import org.jspecify.annotations.Nullable;

/**
 * Bytes requested by a reservation, in granules.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param purpose what the lease is for
 * @param least fewer bytes are of no use
 * @param wanted more bytes are not needed
 */
record Request(Purpose purpose, long least, long wanted) {
    /**
     * Rounds up to granules, and down to the longest lease.
     *
     * @param longest bytes of the longest possible lease
     * @return null if even the minimum is too long
     */
    static @Nullable Request of(Purpose purpose, long minimum, long preferred, long longest) {
        // Compared before it is rounded: the number may be a peer's, and near the largest that there is.
        if (minimum > longest) {
            return null;
        }
        long least = Math.max(FreeExtents.roundUp(minimum), FreeExtents.GRANULE_BYTES);
        if (least > longest) {
            return null;
        }
        // More than a region can hold would make the pool grow to its cap before it settles for what there is.
        long wanted = Math.max(Math.min(FreeExtents.roundUp(Math.min(preferred, longest)), longest), least);
        return new Request(purpose, least, wanted);
    }
}
