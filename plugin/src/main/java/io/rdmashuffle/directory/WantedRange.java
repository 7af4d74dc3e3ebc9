// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

/**
 * Partitions {@code [start, end)} of a map output, whose place in its data is asked for.
 *
 * @param shuffleId of the map output's shuffle
 * @param entry what the directory says of the map output
 * @param start first partition
 * @param end partition after the last one
 */
public record WantedRange(int shuffleId, DirectoryEntry entry, int start, int end) {
    /** Returns whether there is nothing to look up: the output has no byte at all. */
    boolean isEmpty() {
        return entry.extents() == 0 && entry.isReadable(true);
    }
}
