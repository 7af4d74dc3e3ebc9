// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.shuffle.combine.FreeRoom;
import io.rdmashuffle.spark.compat.Concatenation;
import io.rdmashuffle.spark.compat.ScalaCollections;
import java.io.InputStream;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import scala.Product2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Reads a range of partitions of a range of map outputs that Spark's writers wrote, from wherever they are.
 *
 * <p>Order of work as in Spark's own reader: read or fetch, decrypt and decompress, deserialise, then
 * {@link ReducePipeline}.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * @param <K> key
 * @param <C> combined value
 */
public final class RdmaShuffleReader<K, C> implements ShuffleReader<K, C> {
    private final ShuffleDependency<K, ?, C> dependency;
    private final Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocksByAddress;
    private final TaskContext context;
    private final ShuffleReadMetricsReporter metrics;
    private final SparkFetch fetch;
    private final ReducePipeline<K, C> pipeline;
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
        this.dependency = (ShuffleDependency<K, ?, C>) handle.dependency();
        this.blocksByAddress = blocksByAddress;
        this.context = context;
        this.metrics = metrics;
        this.fetch = new SparkFetch(dependency, context, metrics, services, 1);
        this.pipeline =
                new ReducePipeline<>(services.spark(), dependency, context, metrics, FreeRoom.of(services.conf()));
        this.services = services;
        this.batchFetchWanted = batchFetchWanted;
    }

    @Override
    public Iterator<Product2<K, C>> read() {
        SerializerInstance serializer = dependency.serializer().newInstance();
        // A key-value iterator closes its stream, and with that gives its block back, once all records have been read.
        return pipeline.of(new Concatenation<>(
                streams(), block -> serializer.deserializeStream(block._2()).asKeyValueIterator()));
    }

    private Iterator<Tuple2<BlockId, InputStream>> streams() {
        boolean inBatches = batchFetchWanted && fetch.canConcatenate(false);
        SerializerManager codecs = services.serializerManager();
        if (!services.verify()) {
            // Where checksums are not compared, Spark's iterator finds at least some of the damage, and fetches again.
            return fetch.start(blocksByAddress, codecs::wrapStream, inBatches);
        }
        TaskBlocks blocks = TaskBlocks.of(blocksByAddress, context, metrics, services, null, inBatches);
        return ScalaCollections.iterator(new BlockStreams(blocks, fetch, codecs::wrapStream, inBatches));
    }
}
