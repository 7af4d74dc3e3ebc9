// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import io.rdmashuffle.bench.perftest.Perftest.Operation;

/**
 * One level of the library under load: two connected sides in this process, on one device.
 *
 * <p><b>Threading:</b> one thread measures.
 */
interface Load extends AutoCloseable {
    /** Timeout of started operations. */
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
     * Returns the nanoseconds of {@code count} sequential operations: round trips, or half of them. Each is a separate
     * run, unless a level has a faster way.
     */
    default long[] latencies(Operation operation, int bytes, int count) throws Exception {
        long[] nanos = new long[count];
        for (int i = 0; i < count; i++) {
            nanos[i] = run(operation, bytes, 1, 1).nanos();
        }
        return nanos;
    }

    @Override
    void close();

    /**
     * Cost of a run.
     *
     * @param nanos until the last operation was complete
     * @param garbageBytes what this process's threads allocated on the heap meanwhile
     */
    record Measured(long nanos, long garbageBytes) {
        /** Measures a flow from its start to its end. */
        static Measured of(Flow flow) throws Exception {
            Garbage garbage = Garbage.ofAllThreads();
            long started = System.nanoTime();
            flow.start();
            flow.await();
            long nanos = System.nanoTime() - started;
            // Before the result is made, which is allocated, too.
            long garbageBytes = garbage.bytes();
            return new Measured(nanos, garbageBytes);
        }
    }

    /** Operations of which each, once complete, starts the next, until enough have been started. */
    interface Flow {
        /** Starts the first ones. */
        void start();

        /** Waits until all are complete, for at most {@link #LIMIT_SECONDS}; throws what failed. */
        void await() throws Exception;
    }
}
