// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * Measurement of retained heap, by collections with and without an object.
 *
 * <p>Several copies are created, so that other allocations of the JVM are small compared to them.
 */
final class RetainedHeap {
    private static final int COLLECTIONS = 3;

    private RetainedHeap() {}

    /**
     * Returns the bytes of one copy; never below zero.
     *
     * @param copies how many to make and keep until they have been measured; 0 for nothing to measure
     */
    static long bytesOf(int copies, Callable<?> maker) throws Exception {
        if (copies == 0) {
            return 0;
        }
        List<Object> kept = new ArrayList<>(copies);
        // Once before the measurement, for one-time initialization.
        kept.add(maker.call());
        long before = used();
        for (int i = 0; i < copies; i++) {
            kept.add(maker.call());
        }
        long after = used();
        if (kept.size() != copies + 1) {
            throw new IllegalStateException("copies were lost");
        }
        return Math.max(0, after - before) / copies;
    }

    /** Returns the bytes in use after collections. */
    static long used() {
        Runtime runtime = Runtime.getRuntime();
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
