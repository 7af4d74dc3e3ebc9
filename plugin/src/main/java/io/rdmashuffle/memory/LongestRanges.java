// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Index of regions by their longest free range in one area; every operation takes logarithmic time.
 *
 * <p><b>Threading:</b> none; the {@link Pool}'s lock guards it.
 */
final class LongestRanges {
    /** The length of a region's longest free range when it was noted. */
    private record Key(long bytes, int id, @Nullable Region region) {}

    private final TreeSet<Key> ordered =
            new TreeSet<>(Comparator.comparingLong(Key::bytes).thenComparingInt(Key::id));
    private final Map<Region, Key> keys = new HashMap<>();

    /** Records the longest free range of a region; 0 if it has none. */
    void put(Region region, long bytes) {
        Key before = keys.get(region);
        if (before != null) {
            if (before.bytes() == bytes) {
                return;
            }
            ordered.remove(before);
        }
        if (bytes == 0) {
            keys.remove(region);
            return;
        }
        Key key = new Key(bytes, region.id(), region);
        ordered.add(key);
        keys.put(region, key);
    }

    void remove(Region region) {
        put(region, 0);
    }

    /**
     * Returns the region with the shortest range of at least {@code bytes}, or else one with the longest range; the
     * lowest id of several. Null if no region has a free byte.
     */
    @Nullable
    Region regionFor(long bytes) {
        Key key = firstOf(bytes);
        if (key == null && !ordered.isEmpty()) {
            key = firstOf(ordered.last().bytes());
        }
        return key == null ? null : key.region();
    }

    private @Nullable Key firstOf(long bytes) {
        return ordered.ceiling(new Key(bytes, Integer.MIN_VALUE, null));
    }
}
