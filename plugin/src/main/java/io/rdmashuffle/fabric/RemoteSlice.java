// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

/**
 * A range of a peer's pool, in coordinates that hold on every fabric; each fabric turns the region's number into a
 * mapping or into an address and rkey by itself.
 *
 * @param regionId region of the peer's pool
 * @param offset first byte within the region
 * @param lengthBytes bytes, at least 1
 */
public record RemoteSlice(int regionId, long offset, long lengthBytes) {
    public RemoteSlice {
        if (regionId < 0 || offset < 0 || lengthBytes <= 0) {
            throw new IllegalArgumentException(
                    "no such slice: region " + regionId + ", offset " + offset + ", length " + lengthBytes);
        }
    }
}
