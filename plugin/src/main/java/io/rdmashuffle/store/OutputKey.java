// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

/**
 * One map output.
 *
 * @param shuffleId shuffle
 * @param mapId task attempt that wrote the output
 */
public record OutputKey(int shuffleId, long mapId) {
    @Override
    public String toString() {
        return "map output " + mapId + " of shuffle " + shuffleId;
    }
}
