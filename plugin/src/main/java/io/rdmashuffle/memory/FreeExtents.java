// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The free ranges of a part of a region: best fit, neighbours merged on release, every operation in logarithmic time.
 *
 * <p>All offsets and lengths are multiples of {@link #GRANULE_BYTES}, so that no two leases share a cache line. The
 * shortest range that is long enough is taken, the lowest of several, which keeps long runs whole.
 *
 * <p><b>Threading:</b> none; the lock of its tier guards it.
 */
public final class FreeExtents {
    /** One cache line: the unit of allocation. */
    static final long GRANULE_BYTES = 64;

    private final TreeMap<Long, Extent> byOffset = new TreeMap<>();
    /** The same ranges: ordered by offset they merge, ordered by length they are found. */
    private final TreeSet<Extent> byLength =
            new TreeSet<>(Comparator.comparingLong(Extent::lengthBytes).thenComparingLong(Extent::offset));

    private long end;

    /** Starts with everything free. */
    FreeExtents(long offset, long lengthBytes) {
        end = offset + lengthBytes;
        if (lengthBytes > 0) {
            add(offset, lengthBytes);
        }
    }

    /** Drops every free range. */
    public void clear() {
        byOffset.clear();
        byLength.clear();
    }

    /** An offset and a length in bytes. */
    public record Extent(long offset, long lengthBytes) {
        long end() {
            return offset + lengthBytes;
        }
    }

    /** Returns {@code bytes} rounded up to whole granules. */
    static long roundUp(long bytes) {
        return Math.addExact(bytes, GRANULE_BYTES - 1) & -GRANULE_BYTES;
    }

    /**
     * Takes {@code preferred} bytes of the shortest range that has as many, or else the longest one of at least
     * {@code minimum}; null when there is none. Both are whole granules.
     */
    @Nullable
    public Extent take(long minimum, long preferred) {
        Extent free = byLength.ceiling(new Extent(0, preferred));
        if (free == null) {
            free = lowestLongest();
        }
        return free == null || free.lengthBytes() < minimum
                ? null
                : takeFrom(free, Math.min(preferred, free.lengthBytes()));
    }

    private @Nullable Extent lowestLongest() {
        return byLength.isEmpty() ? null : byLength.ceiling(new Extent(0, longestBytes()));
    }

    /** Returns the length of the longest free range; 0 if nothing is free. */
    long longestBytes() {
        return byLength.isEmpty() ? 0 : byLength.last().lengthBytes();
    }

    /** Takes up to {@code preferred} bytes that start exactly at {@code offset}; returns how many, 0 if none. */
    public long takeAt(long offset, long preferred) {
        Extent free = byOffset.get(offset);
        return free == null
                ? 0
                : takeFrom(free, Math.min(free.lengthBytes(), preferred)).lengthBytes();
    }

    /** Releases a range. */
    public void release(long offset, long lengthBytes) {
        long start = offset;
        long end = offset + lengthBytes;
        Map.Entry<Long, Extent> before = byOffset.floorEntry(start);
        Map.Entry<Long, Extent> after = byOffset.ceilingEntry(start);
        if ((before != null && before.getValue().end() > start) || (after != null && after.getKey() < end)) {
            throw new IllegalStateException("range [" + start + ", " + end + ") is free already");
        }
        if (before != null && before.getValue().end() == start) {
            start = before.getKey();
            remove(before.getValue());
        }
        if (after != null && after.getKey() == end) {
            end = after.getValue().end();
            remove(after.getValue());
        }
        add(start, end - start);
    }

    /** Returns whether any byte of a range is free. */
    public boolean overlaps(long offset, long lengthBytes) {
        Map.Entry<Long, Extent> before = byOffset.lowerEntry(offset + lengthBytes);
        return before != null && before.getValue().end() > offset;
    }

    /** Returns the number of free bytes at the end. */
    long tailBytes() {
        Map.Entry<Long, Extent> last = byOffset.lastEntry();
        return last == null || last.getValue().end() < end ? 0 : last.getValue().lengthBytes();
    }

    /** Abandons the last {@code lengthBytes}, which are free. */
    void cutTail(long lengthBytes) {
        if (lengthBytes > tailBytes()) {
            throw new IllegalStateException(
                    "cannot cut off " + lengthBytes + " bytes: only " + tailBytes() + " are free at the end");
        }
        if (lengthBytes > 0) {
            Extent last = byOffset.lastEntry().getValue();
            remove(last);
            end -= lengthBytes;
            if (last.offset() < end) {
                add(last.offset(), end - last.offset());
            }
        }
    }

    /** Returns the bytes that are free in all. */
    long freeBytes() {
        return byLength.stream().mapToLong(Extent::lengthBytes).sum();
    }

    /** Returns the number of separate free ranges: 1 after all were released. */
    int fragments() {
        return byOffset.size();
    }

    private Extent takeFrom(Extent free, long length) {
        remove(free);
        if (length < free.lengthBytes()) {
            add(free.offset() + length, free.lengthBytes() - length);
        }
        return new Extent(free.offset(), length);
    }

    private void add(long offset, long lengthBytes) {
        Extent extent = new Extent(offset, lengthBytes);
        byOffset.put(offset, extent);
        byLength.add(extent);
    }

    private void remove(Extent extent) {
        byOffset.remove(extent.offset());
        byLength.remove(extent);
    }
}
