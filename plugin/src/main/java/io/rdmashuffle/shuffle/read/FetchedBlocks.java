// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import java.io.InputStream;
import java.util.List;
import org.apache.spark.storage.BlockId;
import org.jspecify.annotations.Nullable;
import scala.Function2;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Blocks of a reduce task that Spark fetches: first blocks without a one-sided path, then failed ones.
 *
 * <p><b>Threading:</b> one thread.
 */
final class FetchedBlocks {
    private final BlockReader here;
    private final Fetch fetch;
    private final Function2<BlockId, InputStream, InputStream> wrap;
    private final Runnable atEnd;
    private @Nullable Iterator<Tuple2<BlockId, InputStream>> fetched;
    private boolean missedAsked;

    /** Part of {@link SparkFetch} that this uses. */
    interface Fetch {
        /** Does as {@link SparkFetch#start}. */
        Iterator<Tuple2<BlockId, InputStream>> start(
                List<BlockRequest> blocks, Function2<BlockId, InputStream, InputStream> wrap, boolean inBatches);

        /** Does as {@link SparkFetch#atEnd}. */
        void atEnd(Runnable action);
    }

    /**
     * Starts the fetch of blocks without a one-sided path.
     *
     * @param wrap converts a block's bytes to its stream
     * @param inBatches whether consecutive partitions of one map output may be fetched as one block
     * @param atEnd runs when the task has ended, before Spark releases fetched blocks
     */
    FetchedBlocks(
            BlockReader here,
            List<BlockRequest> others,
            Fetch fetch,
            Function2<BlockId, InputStream, InputStream> wrap,
            boolean inBatches,
            Runnable atEnd) {
        this.here = here;
        this.fetch = fetch;
        this.wrap = wrap;
        this.atEnd = atEnd;
        if (!others.isEmpty()) {
            this.fetched = fetch.start(others, wrap, inBatches);
        }
    }

    /** Waits for the next block; null after the last one. To be asked only when all that is here has been read. */
    @Nullable
    Tuple2<BlockId, InputStream> next() {
        Tuple2<BlockId, InputStream> next = nextFetched();
        if (next == null && !missedAsked) {
            missedAsked = true;
            List<BlockRequest> missed = here.takeMissed();
            if (!missed.isEmpty()) {
                // Not in batches: Spark would also merge the blocks between two others, which were read already.
                fetched = fetch.start(missed, wrap, false);
                fetch.atEnd(atEnd);
                next = nextFetched();
            }
        }
        return next;
    }

    private @Nullable Tuple2<BlockId, InputStream> nextFetched() {
        return fetched != null && fetched.hasNext() ? fetched.next() : null;
    }
}
