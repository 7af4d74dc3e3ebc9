// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

/**
 * Requested partitions {@code [start, end)} of a map output.
 *
 * @param shuffleId of the map output's shuffle
 * @param entry directory entry of the map output
 * @param start first partition
 * @param end partition after the last one
 */
public record WantedRange(int shuffleId, DirectoryEntry entry, int start, int end) {
    /** Returns whether there is nothing to look up: the output has no byte at all. */
    boolean isEmpty() {
        return entry.extents() == 0 && entry.isReadable(true);
    }
}
