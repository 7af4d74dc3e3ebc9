// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Cache of arrays of a few sizes for the tasks of an executor: writing a map output of a megabyte is faster than
 * clearing a megabyte of new arrays. The collector may reclaim unused ones.
 *
 * <p><b>Threading:</b> thread-safe. <b>Ownership:</b> an array belongs to its user until it is returned.
 */
final class SpareArrays {
    private static final int SIZES = 4;

    private final int headerLength;
    private final int smallestLength;
    private final List<ConcurrentLinkedDeque<WeakReference<long[]>>> bySize = IntStream.range(0, SIZES)
            .mapToObj(size -> new ConcurrentLinkedDeque<WeakReference<long[]>>())
            .toList();

    /**
     * Creates an empty cache.
     *
     * @param headerLength of an array, in elements
     * @param smallest smallest cached length, with the header; also two, four and eight times that length
     */
    SpareArrays(int headerLength, int smallest) {
        this.headerLength = headerLength;
        this.smallestLength = smallest;
    }

    /** Returns an array of a length, with whatever its last user left in it. */
    long[] take(int length) {
        ConcurrentLinkedDeque<WeakReference<long[]>> spares = spares(length);
        if (spares != null) {
            for (WeakReference<long[]> spare = spares.pollFirst(); spare != null; spare = spares.pollFirst()) {
                long[] array = spare.get();
                if (array != null) {
                    return array;
                }
            }
        }
        return new long[length];
    }

    /** Takes an array back that its user has no more use for. */
    void give(long[] array) {
        ConcurrentLinkedDeque<WeakReference<long[]>> spares = spares(array.length);
        if (spares != null) {
            spares.addFirst(new WeakReference<>(array));
        }
    }

    /** Returns the cache of arrays of a length; null if there is none. */
    private @Nullable ConcurrentLinkedDeque<WeakReference<long[]>> spares(int length) {
        for (int size = 0; size < SIZES; size++) {
            if (length == (smallestLength << size) - headerLength) {
                return bySize.get(size);
            }
        }
        return null;
    }
}
