// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

/**
 * A stretch of the hashes of executor ids, both ends included.
 *
 * <p>The hash is MurmurHash3's last step over {@link String#hashCode()}, which the Java language defines: driver and
 * executors agree on it, and ids that are counted up lie far apart. Ids of equal hash are possible.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param first at least 0
 * @param last at most 2^32 - 1, not below {@code first}
 */
public record HashRange(long first, long last) {
    static final long LARGEST = 0xffff_ffffL;
    /** Every executor id. */
    static final HashRange ALL = new HashRange(0, LARGEST);

    public HashRange {
        if (first < 0 || last > LARGEST || first > last) {
            throw new IllegalArgumentException("no range of hashes: " + first + " to " + last);
        }
    }

    /** Returns the hash of an executor id, between 0 and 2^32 - 1. */
    static long hash(String executorId) {
        return mix(executorId.hashCode()) & LARGEST;
    }

    static int mix(int value) {
        int h = value;
        h ^= h >>> 16;
        h *= 0x85ebca6b;
        h ^= h >>> 13;
        h *= 0xc2b2ae35;
        h ^= h >>> 16;
        return h;
    }

    boolean contains(long hash) {
        return first <= hash && hash <= last;
    }
}
