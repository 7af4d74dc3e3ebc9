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

    /** Returns whether the output has an index, with rows of these partitions. */
    boolean hasRows() {
        return entry.extents() > 0 && 0 <= start && start < end && end <= entry.partitions();
    }

    /** Returns whether these are all partitions. */
    boolean isWhole() {
        return start == 0 && end == entry.partitions();
    }

    /** Returns all partitions of the map output. */
    WantedRange whole() {
        return new WantedRange(shuffleId, entry, 0, entry.partitions());
    }

    /** Returns the least range that has these partitions and others of the same map output. */
    WantedRange and(WantedRange other) {
        return new WantedRange(shuffleId, entry, Math.min(start, other.start), Math.max(end, other.end));
    }
}
