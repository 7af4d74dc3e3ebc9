package io.rdmashuffle.verbs.async;

import java.util.Objects;

/**
 * A part of a local region that an operation is to use.
 *
 * @param region the region, which the operation keeps open
 * @param offset of the first byte in the region
 * @param lengthBytes length
 */
public record LocalSlice(LocalRegion region, long offset, int lengthBytes) {
    /** Checks that the part is inside. */
    public LocalSlice {
        Objects.checkFromIndexSize(offset, lengthBytes, region.lengthBytes());
    }

    @Override
    public String toString() {
        return lengthBytes + " bytes at offset " + offset;
    }
}
