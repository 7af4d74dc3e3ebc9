// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import io.rdmashuffle.bench.Spread;

/**
 * Results of one scale.
 *
 * @param join registry messages until every executor knew every other
 * @param life registry messages of two shuffles: written, read, removed
 * @param driverHeapBytes heap of the driver's registry for each executor
 * @param publishFresh index and entry into memory of the pool that has not been written to
 * @param publishAgain the same where an earlier shuffle was
 * @param coldNanos where one partition of every map output is, for an executor's first reduce task
 * @param warmNanos the same for its later tasks
 * @param memory memory use
 */
record Figures(
        Scale scale,
        Traffic join,
        Traffic life,
        long driverHeapBytes,
        Latency publishFresh,
        Latency publishAgain,
        Spread coldNanos,
        Spread warmNanos,
        Memory memory) {
    /**
     * Bytes of one executor for one shuffle.
     *
     * @param tableBytes the directory's slots, whatever the shuffles
     * @param segmentBytes the directory's entries, outgrown segments among them
     * @param indexBytes indexes of its own map outputs
     * @param cachedBytes heap of a reader's cache of all map outputs
     */
    record Memory(long tableBytes, long segmentBytes, long indexBytes, long cachedBytes) {}
}
