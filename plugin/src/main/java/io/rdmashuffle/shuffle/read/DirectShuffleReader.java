// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.shuffle.DirectShuffleHandle;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.shuffle.format.RowIterator;
import io.rdmashuffle.shuffle.format.UnsafeRowFormat;
import io.rdmashuffle.shuffle.write.DirectShuffleWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializerInstance;
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
        this.fetch = new SparkFetch(dependency, context, metrics, services);
        this.pipeline = new ReducePipeline<>(dependency, context, metrics);
        this.batchFetchWanted = batchFetchWanted;
    }

    @Override
    public Iterator<Product2<K, C>> read() {
        Map<BlockManagerId, BlockSource> sources = new HashMap<>();
        List<WantedBlock> direct = new ArrayList<>();
        List<WantedBlock> others = new ArrayList<>();
        try {
            while (blocksByAddress.hasNext()) {
                Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>> owned = blocksByAddress.next();
                divide(owned._1(), owned._2().iterator(), sources, direct, others);
            }
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, sources.values().toArray(AutoCloseable[]::new));
            throw failure;
        }
        InPlaceBlockReader visible = new InPlaceBlockReader(
                direct,
                sources,
                new ReadTally(metrics, services.counters()),
                services.verify(),
                () -> Frames.of(services.conf()));
        context.addTaskCompletionListener((TaskCompletionListener) ended -> visible.close());
        RecordStream stream = new RecordStream(visible, others, fetch, batchFetchWanted && fetch.canConcatenate(true));
        context.addTaskCompletionListener((TaskCompletionListener) ended -> stream.close());
        return pipeline.of(records(stream));
    }

    /**
     * Divides blocks into those that can be read in place and those that are fetched meanwhile; all blocks of a map
     * output go one way.
     */
    private void divide(
            BlockManagerId owner,
            Iterator<Tuple3<BlockId, Object, Object>> blocks,
            Map<BlockManagerId, BlockSource> sources,
            List<WantedBlock> direct,
            List<WantedBlock> others) {
        BlockSource source = null;
        boolean asked = false;
        long mapId = -1;
        boolean there = false;
        while (blocks.hasNext()) {
            WantedBlock wanted = new WantedBlock(owner, blocks.next());
            if (!asked) {
                asked = true;
                source = source(wanted);
                if (source != null) {
                    sources.put(owner, source);
                }
            }
            // Asked once: Spark merges neighbouring blocks, and would bring again what is between two of them.
            if (wanted.id().mapId() != mapId) {
                mapId = wanted.id().mapId();
                there = source != null && source.has(wanted);
            }
            (there ? direct : others).add(wanted);
        }
    }

    private Iterator<Tuple2<Object, Object>> records(RecordStream stream) {
        SerializerInstance serializer = dependency.serializer().newInstance();
        return UnsafeRowFormat.areWrittenBy(dependency.serializer())
                ? RowIterator.over(stream, serializer)
                : serializer.deserializeStream(stream).asKeyValueIterator();
    }

    /** Returns the memory in which the owner's blocks can be read; null if it cannot be mapped. */
    private @Nullable BlockSource source(WantedBlock first) {
        String executorId = first.owner().executorId();
        if (executorId.equals(services.blockManager().blockManagerId().executorId())) {
            return new LocalBlocks(services.store());
        }
        PeerPath path = services.paths().to(executorId);
        PeerBlocks blocks = path == null ? null : new PeerBlocks(services.paths(), path);
        if (blocks == null || blocks.isVisible(first)) {
            return blocks;
        }
        blocks.close();
        return null;
    }
}
