// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * How much heap something holds, by what is left after a collection with it and without.
 *
 * <p>Several copies are made so that what else the virtual machine does is small beside them.
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
        // Once outside of the measurement, for what is only made the first time.
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

    private static long used() {
        Runtime runtime = Runtime.getRuntime();
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
