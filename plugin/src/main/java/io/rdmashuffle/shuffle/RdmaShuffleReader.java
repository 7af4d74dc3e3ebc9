package io.rdmashuffle.shuffle;

import java.io.InputStream;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.checksum.RowBasedChecksum;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.util.CompletionIterator;
import org.apache.spark.util.SystemClock;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.runtime.BoxedUnit;

/**
 * Reads a range of partitions of a range of map outputs, from wherever they are, and combines and sorts as the shuffle
 * asks.
 *
 * <p>Order of work as in Spark's own reader: fetch, decrypt and decompress, deserialise, count, combine or sort, each layer
 * interruptible. The fetching is Spark's {@code ShuffleBlockFetcherIterator} over {@link OneSidedBlockClient}.
 *
 * <p><b>Threading:</b> one task thread.
 *
 * @param <K> key
 * @param <C> combined value
 */
public final class RdmaShuffleReader<K, C> implements ShuffleReader<K, C> {
    private static final long MEBIBYTE = 1L << 20;

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
        // A key-value iterator closes its stream, and with that gives its block back, once all records have been read.
        Iterator<Tuple2<Object, Object>> records = fetch().flatMap(
                        block -> serializer.deserializeStream(block._2()).asKeyValueIterator());
        Iterator<Tuple2<Object, Object>> counted = CompletionIterator.apply(
                records.map(record -> {
                    metrics.incRecordsRead(1);
                    return record;
                }),
                () -> {
                    context.taskMetrics().mergeShuffleReadMetrics();
                    return BoxedUnit.UNIT;
                });
        Iterator<Tuple2<Object, Object>> interruptible = new InterruptibleIterator<>(context, counted);
        Iterator<Product2<K, C>> result = sortOrCombine(interruptible);
        // Aggregator and sorter may have consumed the interruptible iterator already.
        return result instanceof InterruptibleIterator ? result : new InterruptibleIterator<>(context, result);
    }

    private Iterator<Tuple2<BlockId, InputStream>> fetch() {
        return new ShuffleBlockFetcherIterator(
                        context,
                        services.client(),
                        services.blockManager(),
                        services.mapOutputTracker(),
                        blocksByAddress,
                        services.serializerManager()::wrapStream,
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
                        canFetchInBatch(),
                        new SystemClock())
                .toCompletionIterator();
    }

    /** Ranges of partitions may come as one stream only if streams of this kind can be concatenated. */
    private boolean canFetchInBatch() {
        SparkConf conf = services.conf();
        boolean compressed = this.<Boolean>setting(package$.MODULE$.SHUFFLE_COMPRESS());
        boolean concatenable =
                !compressed || CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(codec(conf));
        return batchFetchWanted
                && concatenable
                && dependency.serializer().supportsRelocationOfSerializedObjects()
                && !this.<Boolean>setting(package$.MODULE$.SHUFFLE_USE_OLD_FETCH_PROTOCOL())
                && !this.<Boolean>setting(package$.MODULE$.IO_ENCRYPTION_ENABLED());
    }

    private static CompressionCodec codec(SparkConf conf) {
        return CompressionCodec$.MODULE$.createCodec(conf);
    }

    @SuppressWarnings("unchecked")
    private Iterator<Product2<K, C>> sortOrCombine(Iterator<Tuple2<Object, Object>> records) {
        Iterator<?> untyped = records;
        if (dependency.keyOrdering().isDefined()) {
            return sorter().insertAllAndUpdateMetrics((Iterator<Product2<K, Object>>) untyped);
        }
        if (dependency.aggregator().isEmpty()) {
            return (Iterator<Product2<K, C>>) untyped;
        }
        Aggregator<K, Object, C> aggregator =
                (Aggregator<K, Object, C>) dependency.aggregator().get();
        Iterator<?> combined = dependency.mapSideCombine()
                ? aggregator.combineCombinersByKey((Iterator<Product2<K, C>>) untyped, context)
                : aggregator.combineValuesByKey((Iterator<Product2<K, Object>>) untyped, context);
        return (Iterator<Product2<K, C>>) combined;
    }

    /** What was combined on the map side is merged combiner by combiner; else values are combined here, or only sorted. */
    @SuppressWarnings("unchecked")
    private ExternalSorter<K, Object, C> sorter() {
        Option<Aggregator<K, Object, C>> aggregator = Option.empty();
        if (dependency.aggregator().isDefined()) {
            Aggregator<K, Object, C> declared =
                    (Aggregator<K, Object, C>) dependency.aggregator().get();
            aggregator = Option.apply(
                    dependency.mapSideCombine()
                            ? new Aggregator<>(
                                    combiner -> (C) combiner,
                                    (left, right) -> declared.mergeCombiners().apply(left, (C) right),
                                    declared.mergeCombiners())
                            : declared);
        }
        return new ExternalSorter<>(
                context,
                aggregator,
                Option.empty(),
                dependency.keyOrdering(),
                dependency.serializer(),
                new RowBasedChecksum[0]);
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private <T> T setting(ConfigEntry<?> entry) {
        return (T) services.conf().get(entry);
    }
}
