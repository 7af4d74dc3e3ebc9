// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import java.io.InputStream;
import java.util.List;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.util.SystemClock;
import org.apache.spark.util.TaskCompletionListener;
import scala.Function2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Fetches blocks for one reduce task with Spark's {@code ShuffleBlockFetcherIterator} over {@link OneSidedBlockClient}:
 * bytes and requests in flight, retries and fetch failures are Spark's.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * @param dependency the shuffle's
 * @param context the task's
 * @param metrics counts blocks and bytes
 * @param services of the executor
 * @param sizeFactor by how much blocks may be larger than Spark was told, for the bytes that it lets be in flight
 */
record SparkFetch(
        ShuffleDependency<?, ?, ?> dependency,
        TaskContext context,
        ShuffleReadMetricsReporter metrics,
        ReadServices services,
        int sizeFactor)
        implements FetchedBlocks.Fetch {
    private static final long MEBIBYTE = 1L << 20;

    /**
     * Begins to fetch.
     *
     * @param blocks sizes and map indexes, by executor
     * @param wrap makes a block's stream of its bytes
     * @param inBatches whether consecutive partitions of one map output may come as one block
     */
    public Iterator<Tuple2<BlockId, InputStream>> start(
            Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks,
            Function2<BlockId, InputStream, InputStream> wrap,
            boolean inBatches) {
        return new ShuffleBlockFetcherIterator(
                        context,
                        services.client(),
                        services.blockManager(),
                        services.mapOutputTracker(),
                        blocks,
                        wrap,
                        this.<Long>setting(package$.MODULE$.REDUCER_MAX_SIZE_IN_FLIGHT()) * MEBIBYTE,
                        this.<Integer>setting(package$.MODULE$.REDUCER_MAX_REQS_IN_FLIGHT()),
                        this.<Integer>setting(package$.MODULE$.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS()),
                        this.<Long>setting(package$.MODULE$.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM()),
                        this.<Integer>setting(package$.MODULE$.SHUFFLE_MAX_ATTEMPTS_ON_NETTY_OOM()),
                        this.<Boolean>setting(package$.MODULE$.SHUFFLE_DETECT_CORRUPT()),
                        this.<Boolean>setting(package$.MODULE$.SHUFFLE_DETECT_CORRUPT_MEMORY()),
                        this.<Boolean>setting(package$.MODULE$.SHUFFLE_CHECKSUM_ENABLED()),
                        this.<String>setting(package$.MODULE$.SHUFFLE_CHECKSUM_ALGORITHM()),
                        metrics,
                        inBatches,
                        new SystemClock())
                .toCompletionIterator();
    }

    @Override
    public Iterator<Tuple2<BlockId, InputStream>> start(
            List<WantedBlock> blocks, Function2<BlockId, InputStream, InputStream> wrap, boolean inBatches) {
        return start(WantedBlock.byOwner(blocks, sizeFactor), wrap, inBatches);
    }

    /** Has an action done when the task has ended, before those that were asked for earlier. */
    @Override
    public void atEnd(Runnable action) {
        // The last one to be added is the first to be called.
        context.addTaskCompletionListener((TaskCompletionListener) ended -> action.run());
    }

    /**
     * Returns whether streams of consecutive partitions may follow one another; bare records may, where records may.
     */
    public boolean canConcatenate(boolean bare) {
        boolean streams = bare
                || !this.<Boolean>setting(package$.MODULE$.SHUFFLE_COMPRESS())
                || CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(
                        CompressionCodec$.MODULE$.createCodec(services.conf()));
        return streams
                && dependency.serializer().supportsRelocationOfSerializedObjects()
                && !this.<Boolean>setting(package$.MODULE$.SHUFFLE_USE_OLD_FETCH_PROTOCOL())
                && !this.<Boolean>setting(package$.MODULE$.IO_ENCRYPTION_ENABLED());
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private <T> T setting(ConfigEntry<?> entry) {
        return (T) services.conf().get(entry);
    }
}
