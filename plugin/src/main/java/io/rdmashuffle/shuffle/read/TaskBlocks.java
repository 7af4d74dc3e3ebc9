// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.shuffle.format.Frames;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.TaskCompletionListener;
import org.jspecify.annotations.Nullable;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * The blocks of a reduce task, after they have been looked up.
 *
 * @param here those that are read here: where they lie, or in slabs that are being copied; closed when the task ends
 * @param others those that Spark's fetch is to bring
 */
record TaskBlocks(DirectBlockReader here, List<WantedBlock> others) {
    /**
     * Looks blocks up, and begins to copy.
     *
     * @param blocksByAddress what to read, by executor, as the map output tracker tells it
     * @param frames makes what compressed blocks are opened with; null if blocks are handed out as they were stored
     * @param inBatches whether consecutive partitions of one map output count as one block
     */
    static TaskBlocks of(
            Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocksByAddress,
            TaskContext context,
            ShuffleReadMetricsReporter metrics,
            ReadServices services,
            @Nullable Supplier<Frames> frames,
            boolean inBatches) {
        SlabReads slabs = new SlabReads(
                services.paths(),
                services.leases(),
                services.readTimeout(),
                services.maxBytesInFlight(),
                services.counters(),
                metrics::incFetchWaitTime);
        context.addTaskCompletionListener((TaskCompletionListener) ended -> slabs.close());
        BlockLookup lookup = new BlockLookup(
                services.blockManager().blockManagerId().executorId(),
                services.store(),
                services.paths(),
                services.lookups(),
                slabs,
                services.maxCopiedBytes());
        lookup.find(blocksByAddress);
        DirectBlockReader here = new DirectBlockReader(
                lookup.direct(),
                lookup.sources(),
                slabs::cancel,
                new ReadTally(metrics, services.counters(), inBatches, frames != null),
                services.verify(),
                frames);
        // Called before the first listener.
        context.addTaskCompletionListener((TaskCompletionListener) ended -> here.close());
        return new TaskBlocks(here, lookup.others());
    }
}
