// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.memory.Region;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Regions of this process's pool that peers may read, by id.
 *
 * <p><b>Threading:</b> thread-safe; lookups take no lock and make no garbage.
 */
final class LocalRegions {
    private volatile Region[] sorted = {};
    /** Ids that have been used. */
    private volatile int bound;

    synchronized void add(Region region) {
        Region[] next = Arrays.copyOf(sorted, sorted.length + 1);
        next[sorted.length] = region;
        Arrays.sort(next, (a, b) -> Integer.compare(a.id(), b.id()));
        bound = Math.max(bound, region.id() + 1);
        sorted = next;
    }

    synchronized void remove(Region region) {
        sorted = Arrays.stream(sorted).filter(each -> each != region).toArray(Region[]::new);
    }

    /** Returns a region, or null if there is none with this id now. */
    @Nullable
    Region get(int id) {
        Region[] regions = sorted;
        int low = 0;
        int high = regions.length - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int found = regions[middle].id();
            if (found == id) {
                return regions[middle];
            }
            if (found < id) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return null;
    }

    /** Returns whether a region that is not there now has been there. */
    boolean wasReleased(int id) {
        return id >= 0 && id < bound;
    }
}
