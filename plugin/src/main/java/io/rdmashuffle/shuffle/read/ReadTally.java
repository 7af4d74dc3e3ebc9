// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;

/**
 * Batched updates of Spark's metrics and the shuffle's counters for read blocks.
 *
 * <p><b>Threading:</b> one task thread.
 */
final class ReadTally {
    private static final int REPORTED_BLOCKS = 256;

    private final ShuffleReadMetricsReporter metrics;
    private final ShuffleCounters counters;
    private final boolean inBatches;
    private final boolean direct;
    private @Nullable ShuffleCounter path;
    private @Nullable ShuffleBlockId last;
    private int blocks;
    private long bytes;
    private long bytesFromDisk;

    /**
     * Starts at zero.
     *
     * @param inBatches whether consecutive partitions of one map output count as one block, as when Spark fetches them
     * @param direct whether the blocks have uncompressed records
     */
    ReadTally(ShuffleReadMetricsReporter metrics, ShuffleCounters counters, boolean inBatches, boolean direct) {
        this.metrics = metrics;
        this.counters = counters;
        this.inBatches = inBatches;
        this.direct = direct;
    }

    void count(ShuffleCounter by, ShuffleBlockId block, long lengthBytes) {
        boolean sameBatch = inBatches && by == path && isNext(block);
        if (!sameBatch && (by != path || blocks == REPORTED_BLOCKS)) {
            report();
            path = by;
        }
        blocks += sameBatch ? 0 : 1;
        bytes += lengthBytes;
        last = block;
    }

    /** Adds bytes, which are counted as a block's, too, that lay in the disk tier. */
    void countFromDisk(long lengthBytes) {
        bytesFromDisk += lengthBytes;
    }

    /** Counts a block whose bytes did not have their checksum. */
    void countChecksumFailure() {
        counters.add(ShuffleCounter.CHECKSUM_FAILURES, 1);
    }

    private boolean isNext(ShuffleBlockId block) {
        return last != null && block.mapId() == last.mapId() && block.reduceId() > last.reduceId();
    }

    /** Reports unreported counts. */
    void report() {
        ShuffleCounter by = path;
        if (by == null || (blocks == 0 && bytes == 0)) {
            return;
        }
        counters.add(by, bytes);
        counters.add(ShuffleCounter.DIRECT_BYTES, direct ? bytes : 0);
        counters.add(ShuffleCounter.DISK_READ_BYTES, bytesFromDisk);
        bytesFromDisk = 0;
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
