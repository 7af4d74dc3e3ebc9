// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.directory.Crc32c;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.SliceCursor;
import io.rdmashuffle.memory.slice.StoredSlice;
import io.rdmashuffle.shuffle.format.PieceSink;
import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.OutputRefusedException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.Objects;
import java.util.stream.LongStream;
import java.util.zip.CRC32C;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.ShufflePartitionWriter;
import org.apache.spark.shuffle.api.metadata.MapOutputCommitMessage;
import org.apache.spark.unsafe.Platform;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writer of one map output to the pool, partition after partition; when the pool is full, it moves the bytes to Spark's
 * shuffle file and continues there.
 *
 * <p>Publishing happens in {@link #commitAllPartitions}, so before Spark makes a {@code MapStatus} of the result.
 *
 * <p><b>Threading:</b> none; for one task thread.
 *
 * <p><b>Ownership:</b> owns the pool memory until it is committed or aborted.
 */
public final class PoolMapOutputWriter implements ShuffleMapOutputWriter {
    private static final Logger LOG = LoggerFactory.getLogger(PoolMapOutputWriter.class);
    private static final int COPY_BYTES = 64 * 1024;

    /** Spark's file writer for an output that does not fit in the pool; opened once, when needed. */
    @FunctionalInterface
    interface FileOutputs {
        /**
         * Opens Spark's file writer.
         *
         * @throws OutputRefusedException if no file is allowed; the caller must then abort the output
         */
        ShuffleMapOutputWriter open() throws IOException;
    }

    private final OutputKey key;
    private final MapOutputStore store;
    private final int epoch;
    private final ChunkedOutput pooled;
    private final FileOutputs fileWriters;
    private final long[] lengths;
    private final int[] checksums;
    private int lastPartition = -1;
    private boolean committed;
    private @Nullable ShuffleMapOutputWriter file;

    PoolMapOutputWriter(
            OutputKey key,
            int epoch,
            int partitions,
            MapOutputStore store,
            ChunkedOutput pooled,
            FileOutputs fileWriters) {
        this.key = key;
        this.store = store;
        this.epoch = epoch;
        this.pooled = pooled;
        this.fileWriters = fileWriters;
        this.lengths = new long[partitions];
        this.checksums = new int[partitions];
    }

    @Override
    public ShufflePartitionWriter getPartitionWriter(int partition) {
        begin(partition);
        return new PartitionWriter(partition);
    }

    /** Returns the channel of a partition, for bytes outside arrays. */
    PartitionStream openPartition(int partition) throws IOException {
        begin(partition);
        return new PartitionStream(partition);
    }

    private void begin(int partition) {
        if (partition <= lastPartition || partition >= lengths.length) {
            throw new IllegalArgumentException(
                    "partition " + partition + " after " + lastPartition + " of " + lengths.length);
        }
        lastPartition = partition;
    }

    @Override
    public MapOutputCommitMessage commitAllPartitions(long[] sparkChecksums) throws IOException {
        try {
            if (file == null) {
                MapOutput output = pooled.toMapOutput(key.mapId(), lengths, checksums);
                if (output != null) {
                    committed = true;
                    store.add(key.shuffleId(), epoch, output);
                    return MapOutputCommitMessage.of(lengths);
                }
                moveToFile(-1);
            }
            MapOutputCommitMessage message = Objects.requireNonNull(file).commitAllPartitions(sparkChecksums);
            committed = true;
            long total = LongStream.of(message.getPartitionLengths()).sum();
            store.addFile(key, epoch, lengths.length, total);
            return message;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while publishing a map output");
        }
    }

    @Override
    public void abort(Throwable error) throws IOException {
        pooled.discard();
        if (file != null) {
            file.abort(error);
        }
    }

    /** Releases everything if the task has ended without commit or abort: Spark's sort writer does not abort. */
    void abandon() {
        if (!committed) {
            try {
                abort(new IOException("the task ended without a commit"));
            } catch (IOException e) {
                LOG.warn("Cannot remove the unfinished files of {}", key, e);
            }
        }
    }

    /**
     * Replays the pool's bytes into an ordinary file; returns the stream of the partition that is still open, if any.
     */
    private @Nullable OutputStream moveToFile(int openPartition) throws IOException {
        ShuffleMapOutputWriter target = fileWriters.open();
        file = target;
        SliceCursor cursor = new SliceCursor(pooled.slices());
        byte[] buffer = new byte[COPY_BYTES];
        OutputStream open = null;
        for (int p = 0; p <= lastPartition; p++) {
            if (lengths[p] > 0 || p == openPartition) {
                OutputStream out = target.getPartitionWriter(p).openStream();
                StoredSlice.writeAll(cursor.take(lengths[p]), out, buffer);
                if (p == openPartition) {
                    open = out;
                } else {
                    out.close();
                }
            }
        }
        pooled.discard();
        return open;
    }

    private final class PartitionWriter implements ShufflePartitionWriter {
        private final int partition;
        private @Nullable PartitionStream stream;

        PartitionWriter(int partition) {
            this.partition = partition;
        }

        @Override
        public OutputStream openStream() throws IOException {
            if (stream == null) {
                stream = new PartitionStream(partition);
            }
            return stream;
        }

        @Override
        public long getNumBytesWritten() {
            return lengths[partition];
        }
    }

    /** Bytes of one partition; goes to the pool until that is full, then to the file's stream. */
    final class PartitionStream extends OutputStream implements PieceSink {
        private final int partition;
        private final CRC32C crc = new CRC32C();
        private @Nullable OutputStream fileStream;
        private boolean closed;
        private boolean failed;

        private PartitionStream(int partition) throws IOException {
            this.partition = partition;
            if (file != null) {
                fileStream = file.getPartitionWriter(partition).openStream();
            }
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void writeFrom(@Nullable Object base, long offset, int length) throws IOException {
            requireOpen();
            failed = true;
            int done = 0;
            if (fileStream == null) {
                done = pooled.append(
                        (address, from, bytes) -> Platform.copyMemory(base, offset + from, null, address, bytes),
                        length,
                        crc);
                lengths[partition] += done;
            }
            if (done < length) {
                writeThroughArray(base, offset + done, length - done);
            }
            failed = false;
        }

        /** A stream that is closed after a failure may still have bytes; the file must be opened only once. */
        private void requireOpen() throws IOException {
            if (closed) {
                throw new IOException("partition " + partition + " is closed");
            }
            if (failed) {
                throw new IOException("partition " + partition + ": an earlier write has failed");
            }
        }

        /** A record may be as large as an array can be, and the heap nearly full. */
        private void writeThroughArray(@Nullable Object base, long offset, int length) throws IOException {
            byte[] array = new byte[Math.min(length, COPY_BYTES)];
            for (int done = 0; done < length; ) {
                int piece = Math.min(length - done, array.length);
                Platform.copyMemory(base, offset + done, array, Platform.BYTE_ARRAY_OFFSET, piece);
                store(array, 0, piece);
                done += piece;
            }
        }

        @Override
        public void write(byte[] source, int offset, int length) throws IOException {
            requireOpen();
            failed = true;
            store(source, offset, length);
            failed = false;
        }

        private void store(byte[] source, int offset, int length) throws IOException {
            int done = 0;
            if (fileStream == null) {
                done = pooled.append(source, offset, length);
                Crc32c.update(crc, source, offset, done);
                lengths[partition] += done;
            }
            if (done < length) {
                if (fileStream == null) {
                    fileStream = moveToFile(partition);
                }
                if (fileStream != null) {
                    fileStream.write(source, offset + done, length - done);
                }
                lengths[partition] += length - done;
            }
        }

        @Override
        public void close() throws IOException {
            if (closed) {
                return;
            }
            closed = true;
            checksums[partition] = (int) crc.getValue();
            if (fileStream != null) {
                fileStream.close();
            }
        }
    }
}
