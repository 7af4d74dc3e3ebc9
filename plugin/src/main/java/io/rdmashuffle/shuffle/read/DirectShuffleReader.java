// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.shuffle.DirectShuffleEligibility;
import io.rdmashuffle.shuffle.DirectShuffleHandle;
import io.rdmashuffle.shuffle.NetworkCompression;
import io.rdmashuffle.shuffle.combine.FreeRoom;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.shuffle.format.RowIterator;
import io.rdmashuffle.shuffle.format.UnsafeRowFormat;
import io.rdmashuffle.shuffle.write.DirectShuffleWriter;
import java.util.function.Supplier;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.TaskCompletionListener;
import scala.Product2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Reads a range of partitions of a range of map outputs that {@link DirectShuffleWriter} wrote: rows of Spark SQL where
 * they were copied to, other records with one deserialiser for all of them.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * @param <K> key
 * @param <C> combined value
 */
public final class DirectShuffleReader<K, C> implements ShuffleReader<K, C> {
    private final ShuffleDependency<K, ?, C> dependency;
    private final Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocksByAddress;
    private final TaskContext context;
    private final ReadServices services;
    private final ShuffleReadMetricsReporter metrics;
    private final SparkFetch fetch;
    private final ReducePipeline<K, C> pipeline;
    private final boolean batchFetchWanted;

    /**
     * Prepares to read.
     *
     * @param blocksByAddress what to read, by executor, as the map output tracker tells it
     * @param batchFetchWanted whether consecutive partitions of one map output may come as one block
     */
    public DirectShuffleReader(
            DirectShuffleHandle<K, ?, C> handle,
            Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocksByAddress,
            TaskContext context,
            ShuffleReadMetricsReporter metrics,
            ReadServices services,
            boolean batchFetchWanted) {
        this.dependency = handle.dependency();
        this.blocksByAddress = blocksByAddress;
        this.context = context;
        this.services = services;
        this.metrics = metrics;
        this.fetch = new SparkFetch(dependency, context, metrics, services, sizeFactor(handle, services));
        this.pipeline =
                new ReducePipeline<>(services.spark(), dependency, context, metrics, FreeRoom.of(services.conf()));
        this.batchFetchWanted = batchFetchWanted;
    }

    /** Sizes are the blocks' own where whole shuffles are compressed, and where none may be. */
    private static int sizeFactor(DirectShuffleHandle<?, ?, ?> handle, ReadServices services) {
        return handle.compression() == NetworkCompression.ON
                        || !services.conf().getBoolean(DirectShuffleEligibility.COMPRESS, true)
                ? 1
                : DirectShuffleHandle.SIZE_FACTOR;
    }

    @Override
    public Iterator<Product2<K, C>> read() {
        Supplier<Frames> frames = () -> Frames.of(services.conf());
        boolean inBatches = batchFetchWanted && fetch.canConcatenate(true);
        TaskBlocks blocks = TaskBlocks.of(blocksByAddress, context, metrics, services, frames, inBatches);
        RecordStream stream = new RecordStream(blocks, fetch, frames, inBatches);
        context.addTaskCompletionListener((TaskCompletionListener) ended -> stream.close());
        return pipeline.of(records(stream));
    }

    private Iterator<Tuple2<Object, Object>> records(RecordStream stream) {
        SerializerInstance serializer = dependency.serializer().newInstance();
        return UnsafeRowFormat.areWrittenBy(dependency.serializer())
                ? RowIterator.over(stream, serializer)
                : serializer.deserializeStream(stream).asKeyValueIterator();
    }
}
