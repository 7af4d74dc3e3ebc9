// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The free ranges of one region: first fit, neighbours merged on release.
 *
 * <p>All offsets and lengths are multiples of {@link #GRANULE_BYTES}, so that no two leases share a cache line. First
 * fit from the low end keeps the high end free for long runs.
 *
 * <p><b>Threading:</b> none; the {@link Pool}'s lock guards it.
 */
final class FreeExtents {
    /** One cache line: the unit of allocation. */
    static final long GRANULE_BYTES = 64;

    private final TreeMap<Long, Long> lengthByOffset = new TreeMap<>();

    /** Starts with everything free. */
    FreeExtents(long lengthBytes) {
        lengthByOffset.put(0L, lengthBytes);
    }

    /** Returns ranges that begin without a byte and grow by what is released to them. */
    static FreeExtents none() {
        FreeExtents extents = new FreeExtents(0);
        extents.clear();
        return extents;
    }

    /** Forgets all free ranges. */
    void clear() {
        lengthByOffset.clear();
    }

    /** An offset and a length in bytes. */
    record Extent(long offset, long lengthBytes) {}

    /** Returns {@code bytes} rounded up to whole granules. */
    static long roundUp(long bytes) {
        return Math.addExact(bytes, GRANULE_BYTES - 1) & -GRANULE_BYTES;
    }

    /**
     * Takes the first range of {@code preferred} bytes, or else the longest one of at least {@code minimum}; null when
     * there is none. Both are whole granules.
     */
    @Nullable
    Extent take(long minimum, long preferred) {
        Map.Entry<Long, Long> longest = null;
        for (Map.Entry<Long, Long> free : lengthByOffset.entrySet()) {
            if (free.getValue() >= preferred) {
                return takeFrom(free, preferred);
            }
            if (longest == null || free.getValue() > longest.getValue()) {
                longest = free;
            }
        }
        return longest == null || longest.getValue() < minimum ? null : takeFrom(longest, longest.getValue());
    }

    /** Takes up to {@code preferred} bytes that start exactly at {@code offset}; returns how many, 0 if none. */
    long takeAt(long offset, long preferred) {
        Long free = lengthByOffset.get(offset);
        if (free == null) {
            return 0;
        }
        long taken = Math.min(free, preferred);
        takeFrom(Map.entry(offset, free), taken);
        return taken;
    }

    /** Gives a range back. */
    void release(long offset, long lengthBytes) {
        long start = offset;
        long end = offset + lengthBytes;
        Map.Entry<Long, Long> before = lengthByOffset.floorEntry(start);
        Map.Entry<Long, Long> after = lengthByOffset.ceilingEntry(start);
        if ((before != null && before.getKey() + before.getValue() > start)
                || (after != null && after.getKey() < end)) {
            throw new IllegalStateException("range [" + start + ", " + end + ") is free already");
        }
        if (before != null && before.getKey() + before.getValue() == start) {
            start = before.getKey();
        }
        if (after != null && after.getKey() == end) {
            end = after.getKey() + after.getValue();
            lengthByOffset.remove(after.getKey());
        }
        lengthByOffset.put(start, end - start);
    }

    /** Returns the bytes that are free in all. */
    long freeBytes() {
        return lengthByOffset.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Returns how many separate ranges are free: 1 after everything came back. */
    int fragments() {
        return lengthByOffset.size();
    }

    private Extent takeFrom(Map.Entry<Long, Long> free, long length) {
        long offset = free.getKey();
        long rest = free.getValue() - length;
        lengthByOffset.remove(offset);
        if (rest > 0) {
            lengthByOffset.put(offset + length, rest);
        }
        return new Extent(offset, length);
    }
}
