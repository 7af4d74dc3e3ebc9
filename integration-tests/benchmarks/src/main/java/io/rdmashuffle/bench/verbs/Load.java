// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import io.rdmashuffle.bench.perftest.Perftest.Operation;

/**
 * One level of the library under load: two connected sides in this process, on one device.
 *
 * <p><b>Threading:</b> one thread measures.
 */
interface Load extends AutoCloseable {
    /** Longest wait for what was started. */
    long LIMIT_SECONDS = 120;

    /**
     * Does an operation many times.
     *
     * @param bytes of one operation
     * @param depth operations outstanding
     * @param count operations in all
     */
    Measured run(Operation operation, int bytes, int depth, int count) throws Exception;

    /**
     * Returns the nanoseconds of each of so many operations, one after another: there and back, or half of there and
     * back.
     */
    long[] latencies(Operation operation, int bytes, int count) throws Exception;

    @Override
    void close();

    /**
     * What a run took.
     *
     * @param nanos until the last operation was complete
     * @param garbageBytes what this process's threads allocated on the heap meanwhile
     */
    record Measured(long nanos, long garbageBytes) {}
}
