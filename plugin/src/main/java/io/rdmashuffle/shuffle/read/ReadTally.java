// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.jspecify.annotations.Nullable;

/**
 * Adds blocks that were read to Spark's metrics and the shuffle's counters, many at a time.
 *
 * <p><b>Threading:</b> one task thread.
 */
final class ReadTally {
    private static final int REPORTED_BLOCKS = 256;

    private final ShuffleReadMetricsReporter metrics;
    private final ShuffleCounters counters;
    private @Nullable ShuffleCounter path;
    private int blocks;
    private long bytes;

    ReadTally(ShuffleReadMetricsReporter metrics, ShuffleCounters counters) {
        this.metrics = metrics;
        this.counters = counters;
    }

    void count(ShuffleCounter by, long lengthBytes) {
        if (by != path || blocks == REPORTED_BLOCKS) {
            report();
            path = by;
        }
        blocks++;
        bytes += lengthBytes;
    }

    /** Reports what has not been reported yet. */
    void report() {
        ShuffleCounter by = path;
        if (by == null || blocks == 0) {
            return;
        }
        counters.add(by, bytes);
        if (by == ShuffleCounter.LOCAL_BYTES) {
            metrics.incLocalBlocksFetched(blocks);
            metrics.incLocalBytesRead(bytes);
        } else {
            metrics.incRemoteBlocksFetched(blocks);
            metrics.incRemoteBytesRead(bytes);
        }
        blocks = 0;
        bytes = 0;
    }
}
