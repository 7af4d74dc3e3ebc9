// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.shuffle.DirectShuffleEligibility;
import io.rdmashuffle.shuffle.DirectShuffleHandle;
import io.rdmashuffle.shuffle.NetworkCompression;
import io.rdmashuffle.shuffle.combine.FreeRoom;
import io.rdmashuffle.shuffle.combine.ReducePipeline;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.shuffle.format.RowIterator;
import io.rdmashuffle.shuffle.format.UnsafeRowFormat;
import io.rdmashuffle.spark.compat.Concatenation;
import io.rdmashuffle.spark.compat.ScalaCollections;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.TaskCompletionListener;
import org.jspecify.annotations.Nullable;
import scala.Product2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Reader of a range of partitions of a range of map outputs.
 *
 * <p>Blocks that Spark's writers wrote are decrypted, decompressed and deserialized one by one. Those of a {@link
 * DirectShuffleHandle} are one stream of records: rows of Spark SQL are used where they were copied to, other records
 * have one deserializer.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * @param <K> key
 * @param <C> combined value
 */
public final class RdmaShuffleReader<K, C> implements ShuffleReader<K, C> {
    private final BaseShuffleHandle<K, ?, C> handle;
    private final ShuffleDependency<K, ?, C> dependency;
    private final Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocksByAddress;
    private final TaskContext context;
    private final ShuffleReadMetricsReporter metrics;
    private final ReadServices services;
    private final boolean batchFetchWanted;

    /**
     * Prepares to read.
     *
     * @param blocksByAddress what to read, by executor, as the map output tracker tells it
     * @param batchFetchWanted whether consecutive partitions of one map output may come as one block
     */
    @SuppressWarnings("unchecked")
    public RdmaShuffleReader(
            BaseShuffleHandle<K, ?, C> handle,
            Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocksByAddress,
            TaskContext context,
            ShuffleReadMetricsReporter metrics,
            ReadServices services,
            boolean batchFetchWanted) {
        this.handle = handle;
        this.dependency = (ShuffleDependency<K, ?, C>) handle.dependency();
        this.blocksByAddress = blocksByAddress;
        this.context = context;
        this.metrics = metrics;
        this.services = services;
        this.batchFetchWanted = batchFetchWanted;
    }

    @Override
    public Iterator<Product2<K, C>> read() {
        SerializerInstance serializer = dependency.serializer().newInstance();
        return new ReducePipeline<>(services.spark(), dependency, context, metrics, FreeRoom.of(services.conf()))
                .of(
                        handle instanceof DirectShuffleHandle<K, ?, C> direct
                                ? directRecords(direct, serializer)
                                : records(serializer));
    }

    private Iterator<Tuple2<Object, Object>> records(SerializerInstance serializer) {
        SparkFetch fetch = new SparkFetch(dependency, context, metrics, services, 1);
        boolean inBatches = batchFetchWanted && fetch.canConcatenate(false);
        SerializerManager codecs = services.env().serializerManager();
        BlockLookup lookup = lookUp();
        BlockStreams streams =
                new BlockStreams(open(lookup, null, inBatches), lookup.others(), fetch, codecs::wrapStream, inBatches);
        // A key-value iterator closes its stream, and with that releases its block, after the last record.
        return new Concatenation<>(
                ScalaCollections.iterator(streams),
                block -> serializer.deserializeStream(block._2()).asKeyValueIterator());
    }

    private Iterator<Tuple2<Object, Object>> directRecords(
            DirectShuffleHandle<K, ?, C> direct, SerializerInstance serializer) {
        SparkFetch fetch = new SparkFetch(dependency, context, metrics, services, sizeFactor(direct));
        boolean inBatches = batchFetchWanted && fetch.canConcatenate(true);
        Frames frames = Frames.of(services.conf());
        BlockLookup lookup = lookUp();
        RecordStream stream =
                new RecordStream(open(lookup, frames, inBatches), lookup.others(), fetch, frames, inBatches);
        context.addTaskCompletionListener((TaskCompletionListener) ended -> stream.close());
        return UnsafeRowFormat.areWrittenBy(dependency.serializer())
                ? RowIterator.over(stream, serializer)
                : serializer.deserializeStream(stream).asKeyValueIterator();
    }

    /** Sizes are the blocks' own where whole shuffles are compressed, and where none may be. */
    private int sizeFactor(DirectShuffleHandle<?, ?, ?> direct) {
        return direct.compression() == NetworkCompression.ON
                        || !services.conf().getBoolean(DirectShuffleEligibility.COMPRESS, true)
                ? 1
                : DirectShuffleHandle.SIZE_FACTOR;
    }

    /** Looks up all blocks, and begins to copy those of peers whose memory is not mapped. */
    private BlockLookup lookUp() {
        FetchWindow window = new FetchWindow(
                services.paths(),
                services.leases(),
                services.config().get(ShuffleConfig.FABRIC_READ_TIMEOUT),
                services.maxBytesInFlight(),
                services.counters(),
                metrics::incFetchWaitTime);
        Runnable unwatch = services.kills().watch(context::isInterrupted, window::cancel);
        context.addTaskCompletionListener((TaskCompletionListener) ended -> {
            unwatch.run();
            window.close();
        });
        BlockLookup lookup = new BlockLookup(
                services.env().executorId(),
                services.store(),
                services.paths(),
                services.lookups(),
                window,
                services.maxCopiedBytes());
        window.lookUp(() -> lookup.find(blocksByAddress));
        return lookup;
    }

    /**
     * Opens the blocks that are read one-sidedly, until the task ends.
     *
     * @param frames opens compressed blocks of uncompressed rows; null if blocks are handed out as they were stored
     */
    private BlockReader open(BlockLookup lookup, @Nullable Frames frames, boolean inBatches) {
        BlockReader reader = new BlockReader(
                lookup.direct(),
                lookup.sources(),
                lookup.window()::cancel,
                new ReadTally(metrics, services.counters(), inBatches, frames != null),
                services.config().get(ShuffleConfig.FETCH_VERIFY_CHECKSUM),
                frames);
        // Called before the window is closed.
        context.addTaskCompletionListener((TaskCompletionListener) ended -> reader.close());
        return reader;
    }
}
