// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.shuffle.DirectShuffleEligibility;
import io.rdmashuffle.shuffle.DirectShuffleHandle;
import io.rdmashuffle.shuffle.combine.FreeRoom;
import io.rdmashuffle.shuffle.combine.RecordCombiner;
import io.rdmashuffle.shuffle.format.CodecCost;
import io.rdmashuffle.shuffle.format.FrameCodec;
import io.rdmashuffle.shuffle.format.FrameMarkGuard;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.shuffle.format.RecordEncoder;
import io.rdmashuffle.shuffle.format.RowRecords;
import io.rdmashuffle.shuffle.format.SerializedRecords;
import io.rdmashuffle.shuffle.format.UnsafeRowFormat;
import io.rdmashuffle.spark.compat.RowChecksums;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.OutputRefusedException;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import java.util.zip.CheckedOutputStream;
import java.util.zip.Checksum;
import org.apache.spark.Aggregator;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.checksum.ShuffleChecksumSupport;
import org.apache.spark.util.TaskCompletionListener;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Serialises each record once, before it pulls the next, and writes map output by partition: into the pool, or into
 * Spark's shuffle file where the pool has no room. Where the shuffle combines on the map side,
 * {@link RecordCombiner} comes before, and Spark's map of combiners behind that, which spills by itself. Records that
 * memory cannot hold wait in temporary files.
 *
 * <p><b>Threading:</b> one task thread; another thread of the task may make it spill. <b>Ownership:</b> owns the
 * gathered records and the temporary files; {@link #stop} ends both.
 *
 * @param <K> key
 * @param <V> value
 */
public final class DirectShuffleWriter<K, V> extends ShuffleWriter<K, V> implements ShuffleChecksumSupport {
    private static final Logger LOG = LoggerFactory.getLogger(DirectShuffleWriter.class);
    private static final int BUFFER_BYTES = 64 << 10;

    private final ShuffleDependency<K, V, ?> dependency;
    private final OutputKey key;
    private final int epoch;
    private final TaskContext context;
    private final TaskMetrics taskMetrics;
    private final ShuffleWriteMetricsReporter metrics;
    private final WriteServices services;
    private final int partitions;
    private final boolean mayCompress;
    private final PartitionedRecordBuffer gathered;
    private final SpilledRecords spilled;
    private final byte[] head = new byte[Frames.markBytes()];
    private byte @Nullable [] buffer;
    private long[] lengths = new long[0];
    private @Nullable MapStatus status;
    private boolean isBare;
    private boolean stopped;

    /** Prepares to write one map output. */
    public DirectShuffleWriter(
            DirectShuffleHandle<K, V, ?> handle,
            long mapId,
            TaskContext context,
            ShuffleWriteMetricsReporter metrics,
            WriteServices services) {
        this.dependency = handle.dependency();
        this.key = new OutputKey(handle.shuffleId(), mapId);
        this.epoch = services.components().epoch(handle.shuffleId());
        this.context = context;
        this.taskMetrics = context.taskMetrics();
        this.metrics = metrics;
        this.services = services;
        this.partitions = dependency.partitioner().numPartitions();
        this.mayCompress = services.conf().getBoolean(DirectShuffleEligibility.COMPRESS, true);
        this.spilled = new SpilledRecords(
                this::temporaryFile,
                partitions,
                services.conf(),
                taskMetrics,
                mayCompress ? services.components().standardCodec(hasRows()) : null);
        this.gathered = new PartitionedRecordBuffer(context.taskMemoryManager(), partitions, spilled);
        // Spark stops the writer of a task that fails with an exception, but not with an error.
        context.addTaskCompletionListener((TaskCompletionListener) ended -> stop(false));
    }

    @Override
    public void write(Iterator<Product2<K, V>> records) throws IOException {
        RowChecksums checksums = services.spark().rowChecksums(dependency);
        takeAll(combined(records), checksums);
        gathered.shut();
        long started = System.nanoTime();
        lengths = commit();
        metrics.incBytesWritten(LongStream.of(lengths).sum());
        metrics.incWriteTime(System.nanoTime() - started);
        taskMetrics.incPeakExecutionMemory(gathered.peakBytes());
        long[] reported = reportedSizes();
        status =
                services.spark().mapStatus(services.blockManager().shuffleServerId(), reported, key.mapId(), checksums);
    }

    /** Returns the records to write: the input, or one combiner per key if the shuffle combines on the map side. */
    @SuppressWarnings("unchecked") // A dependency that combines has an aggregator of its own types.
    private Iterator<? extends Product2<K, ?>> combined(Iterator<Product2<K, V>> records) {
        if (!dependency.mapSideCombine()) {
            return records;
        }
        Aggregator<K, V, ?> aggregator =
                (Aggregator<K, V, ?>) dependency.aggregator().get();
        return new RecordCombiner<>(aggregator, FreeRoom.of(services.conf()), context).combined(records);
    }

    private void takeAll(Iterator<? extends Product2<K, ?>> records, RowChecksums checksums) throws IOException {
        Partitioner partitioner = dependency.partitioner();
        int partitions = partitioner.numPartitions();
        CloseOnFailure.use(encoder(), encoder -> {
            long taken = 0;
            while (records.hasNext()) {
                Product2<K, ?> record = records.next();
                int partition = partitioner.getPartition(record._1());
                if (partition < 0 || partition >= partitions) {
                    throw outOfRange(partitioner, record._1(), partition);
                }
                encoder.write(partition, record._1(), record._2(), gathered);
                checksums.update(partition, record._1(), record._2());
                taken++;
            }
            metrics.incRecordsWritten(taken);
        });
    }

    private static IllegalStateException outOfRange(Partitioner partitioner, Object key, int partition) {
        return new IllegalStateException(partitioner.getClass().getName() + ".getPartition returned " + partition
                + " for a key of " + (key == null ? "null" : key.getClass().getName())
                + "; a partition id is at least 0 and below numPartitions, which is " + partitioner.numPartitions());
    }

    private RecordEncoder encoder() {
        Serializer serializer = dependency.serializer();
        return hasRows() ? new RowRecords(serializer) : new SerializedRecords(serializer);
    }

    private boolean hasRows() {
        return UnsafeRowFormat.areWrittenBy(dependency.serializer());
    }

    private File temporaryFile() {
        return services.blockManager()
                .diskBlockManager()
                .createTempShuffleBlock()
                ._2();
    }

    private long[] commit() throws IOException {
        long bytes = gathered.recordBytes() + spilled.recordBytes();
        FrameCodec codec = mayCompress ? codecFor(bytes) : null;
        for (Destination destination : Destination.inOrder(mayCompress, codec != null)) {
            FrameCodec with = codec == null ? services.components().standardCodec(hasRows()) : codec;
            long[] written = writtenTo(destination, with, bytes);
            if (written != null) {
                isBare = !destination.isCompressed();
                return written;
            }
        }
        throw new IllegalStateException("no destination took " + key);
    }

    /**
     * Returns the sizes for Spark's planning: estimated compressed sizes of uncompressed blocks, if compression is
     * allowed. Compressed outputs are sampled, too, since the driver decides about later shuffles by recent samples.
     */
    private long[] reportedSizes() throws IOException {
        if (!mayCompress) {
            return lengths;
        }
        int shuffleId = key.shuffleId();
        if (services.sizes().wantsSample(shuffleId)) {
            BlockSample sample = new BlockSample(
                    CompressionCodec$.MODULE$.createCodec(services.conf()),
                    Frames.of(services.conf()),
                    services.components().standardCodec(hasRows()));
            sample.take(gathered, partitions, buffer());
            services.sizes().add(shuffleId, sample, gathered.recordBytes() + spilled.recordBytes());
        }
        return isBare ? services.sizes().of(shuffleId, lengths) : lengths;
    }

    private @Nullable FrameCodec codecFor(long bytes) {
        return services.compressesAll() || spilled.hasFrames()
                ? services.components().standardCodec(hasRows())
                : services.components().codecFor(bytes, hasRows());
    }

    /**
     * Returns the lengths by partition; null if the destination has refused the output, and then holds nothing of it.
     */
    private long @Nullable [] writtenTo(Destination destination, FrameCodec codec, long bytes) throws IOException {
        boolean inMemory = destination == Destination.POOL_BARE && spilled.recordBytes() == 0;
        CodecCost cost = new CodecCost();
        BlockForm form = form(destination, codec, cost);
        PoolMapOutputWriter out = services.components().createOutputWriter(key, epoch, partitions, destination, bytes);
        try {
            for (int p = 0; p < partitions; p++) {
                if (inMemory) {
                    writeBare(out, p);
                } else if (has(p)) {
                    int partition = p;
                    CloseOnFailure.use(form.open(p, out), stream -> writeTo(stream, partition));
                }
            }
            services.components().compressed(codec, cost);
            return out.commitAllPartitions(getChecksumValues(form.checksums())).getPartitionLengths();
        } catch (OutputRefusedException e) {
            out.abort(e);
            LOG.debug("{} was refused by {}: {}", key, destination, e.getMessage());
            return null;
        } catch (Throwable e) {
            CloseOnFailure.close(e, () -> out.abort(e));
            throw e;
        }
    }

    private BlockForm form(Destination destination, FrameCodec codec, CodecCost cost) {
        // Spark's checksum files lie beside its shuffle files only.
        Checksum[] checksums = destination == Destination.POOL_BARE
                ? new Checksum[0]
                : createPartitionChecksums(partitions, services.conf());
        if (!destination.isCompressed()) {
            return new BlockForm(checksums, FrameMarkGuard::new);
        }
        Frames frames = Frames.of(services.conf());
        return new BlockForm(checksums, stored -> frames.compress(stored, codec, cost));
    }

    /** Writes records that are all in memory to the pool, each byte with one copy. */
    private void writeBare(PoolMapOutputWriter out, int partition) throws IOException {
        if (gathered.has(partition)) {
            FrameMarkGuard.check(head, gathered.head(partition, head));
            CloseOnFailure.use(out.openPartition(partition), stream -> gathered.writeTo(stream, partition));
        }
    }

    /** Writes a partition's records in the order in which they came. */
    private void writeTo(OutputStream out, int partition) throws IOException {
        spilled.writeTo(out, partition, buffer());
        gathered.writeTo(out, partition, buffer());
    }

    private byte[] buffer() {
        byte[] made = buffer;
        if (made == null) {
            made = new byte[BUFFER_BYTES];
            buffer = made;
        }
        return made;
    }

    private boolean has(int partition) throws IOException {
        return gathered.has(partition) || spilled.has(partition);
    }

    @Override
    public long[] getPartitionLengths() {
        return lengths;
    }

    @Override
    public Option<MapStatus> stop(boolean success) {
        if (!stopped) {
            stopped = true;
            gathered.close();
            spilled.close();
            if (success && status != null) {
                return Option.apply(status);
            }
        }
        return Option.empty();
    }

    /**
     * Form of written blocks.
     *
     * @param checksums take each partition's bytes as they are stored, for Spark's checksum files; empty if there are
     *     to be none
     * @param records bare or compressed
     */
    @SuppressWarnings("ArrayRecordComponent")
    private record BlockForm(Checksum[] checksums, UnaryOperator<OutputStream> records) {
        /** Opens a partition of a map output; the caller closes it before the next. */
        OutputStream open(int partition, ShuffleMapOutputWriter out) throws IOException {
            OutputStream stored = out.getPartitionWriter(partition).openStream();
            return records.apply(
                    checksums.length == 0 ? stored : new CheckedOutputStream(stored, checksums[partition]));
        }
    }
}
