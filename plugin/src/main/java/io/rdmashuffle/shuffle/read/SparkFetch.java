// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.shuffle.BlockKey;
import io.rdmashuffle.shuffle.read.BlockLocation.Elsewhere;
import java.io.InputStream;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.util.SystemClock;
import org.apache.spark.util.TaskCompletionListener;
import scala.Function2;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Fetch of blocks for one reduce task with Spark's {@code ShuffleBlockFetcherIterator} over {@link TransferClient}:
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
     * Starts to fetch.
     *
     * @param wrap makes a block's stream of its bytes
     * @param inBatches whether consecutive partitions of one map output may come as one block
     */
    @Override
    public Iterator<Tuple2<BlockId, InputStream>> start(
            List<BlockRequest> blocks, Function2<BlockId, InputStream, InputStream> wrap, boolean inBatches) {
        return new ShuffleBlockFetcherIterator(
                        context,
                        services.transfer().client(inFiles(blocks)),
                        services.env().blockManager(),
                        services.env().mapOutputTracker(),
                        BlockRequest.byOwner(blocks, sizeFactor),
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

    /** Returns a filter of the ids of those blocks, or batches of them, that lie in Spark's shuffle files. */
    static Predicate<String> inFiles(List<BlockRequest> blocks) {
        Set<Long> mapIds = new HashSet<>();
        for (BlockRequest each : blocks) {
            if (each.location() == Elsewhere.FILE) {
                mapIds.add(each.id().mapId());
            }
        }
        return id -> BlockKey.of(id).filter(key -> mapIds.contains(key.mapId())).isPresent();
    }

    /** Registers an action for the end of the task, executed before earlier registered ones. */
    @Override
    public void atEnd(Runnable action) {
        // The last one to be added is the first to be called.
        context.addTaskCompletionListener((TaskCompletionListener) ended -> action.run());
    }

    /**
     * Returns whether streams of consecutive partitions can be concatenated; true for uncompressed records of
     * relocatable serializers.
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
