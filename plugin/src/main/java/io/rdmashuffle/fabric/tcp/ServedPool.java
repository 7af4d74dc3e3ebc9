// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.slice.FileSlice;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A pool that peers may read here: this process's own, or that of one that has ended.
 *
 * <p><b>Threading:</b> thread-safe; lookups take no lock and make no garbage.
 */
final class ServedPool {
    private static final Disk NO_DISK = (regionId, offset, lengthBytes) -> null;

    /** Serves nothing; after the constant that it uses. */
    static final ServedPool NONE = new ServedPool();

    private volatile Region[] sorted = {};
    /** Ids that have been used. */
    private volatile int bound;

    private volatile Disk disk = NO_DISK;

    /** Files of a disk tier. */
    @FunctionalInterface
    interface Disk {
        /** Returns a range of a file that may be read now; null if it may not. */
        @Nullable
        FileSlice leased(int regionId, long offset, long lengthBytes);
    }

    void serve(Disk files) {
        disk = files;
    }

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

    /** Returns a range of a file of the disk tier; null if no lease covers it. */
    @Nullable
    FileSlice leased(int regionId, long offset, long lengthBytes) {
        return disk.leased(regionId, offset, lengthBytes);
    }

    /** Returns whether a region that is not there now has been there. */
    boolean wasReleased(int id) {
        return id >= 0 && id < bound;
    }
}
