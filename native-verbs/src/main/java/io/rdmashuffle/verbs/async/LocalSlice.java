// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.Objects;

/**
 * A part of a local region, for an operation.
 *
 * @param region the region, which the operation keeps open
 * @param offset of the first byte in the region
 * @param lengthBytes length; may be 0
 */
public record LocalSlice(LocalRegion region, long offset, int lengthBytes) {
    /**
     * Checks that the part is inside.
     *
     * @param region the region
     * @param offset at least 0
     * @param lengthBytes at least 0
     * @throws IndexOutOfBoundsException if it is not
     */
    public LocalSlice {
        Objects.checkFromIndexSize(offset, lengthBytes, region.lengthBytes());
    }

    @Override
    public String toString() {
        return lengthBytes + " bytes at offset " + offset;
    }
}
