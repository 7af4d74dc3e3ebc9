// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.shuffle.format.FrameCodec;
import io.rdmashuffle.shuffle.format.Frames;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Spilled records: {@linkplain SpillRun runs} in temporary files, each with all partitions of a spill in order.
 *
 * <p>Spills are not recompressed: a spill with enough bytes per partition is written in the frames of a compressed map
 * output. Small spills compress better as a whole.
 *
 * <p>A task that gets next to no memory spills thousands of times, and reading takes a buffer and a decompressor for
 * each run. So a file with too many of them is merged into one run of the next file, and so on: a byte is written once
 * to each, and a million spills need five. Large spills tell of memory for more buffers, so that more of them are left
 * side by side.
 *
 * <p><b>Threading:</b> none; one thread at a time. <b>Ownership:</b> owns its files and deletes them on close.
 */
final class SpilledRecords implements PartitionedRecordBuffer.Overflow, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SpilledRecords.class);
    private static final String COMPRESS = "spark.shuffle.spill.compress";
    private static final int BUFFER_BYTES = 64 << 10;
    private static final int MIN_RUNS = 16;
    private static final int MAX_RUNS = 64;
    /** Of a spill, on average, for each partition to have frames of its own: small ones compress less. */
    private static final long FRAMED_BYTES_PER_PARTITION = 16 << 10;
    /** Of a spill, for each run: buffer and decompressor take about 100 KB, so all take less than a spill had. */
    private static final long SPILL_BYTES_PER_RUN = 256 << 10;

    private final Supplier<File> paths;
    private final int partitions;
    private final SparkConf conf;
    private final TaskMetrics metrics;
    private final @Nullable FrameCodec framesWith;
    /** The last one has the oldest records. */
    private final List<SpillFile> files = new ArrayList<>();
    /** While they are read: all runs, the oldest first. */
    private final List<SpillRun> open = new ArrayList<>();

    private @Nullable CompressionCodec codec;
    private @Nullable Frames frames;
    private boolean framed;
    private int nextPartition;
    private long recordBytes;
    private long largestSpill;

    /**
     * Creates no file yet.
     *
     * @param paths of files that do not exist
     * @param conf Spark's configuration, for compression
     * @param metrics spill metrics
     * @param framesWith codec of a map output of these records; null if it must not be compressed
     */
    SpilledRecords(
            Supplier<File> paths,
            int partitions,
            SparkConf conf,
            TaskMetrics metrics,
            @Nullable FrameCodec framesWith) {
        this.paths = paths;
        this.partitions = partitions;
        this.conf = conf;
        this.metrics = metrics;
        this.framesWith = framesWith;
    }

    /** Spills all records of a buffer. Where that fails, nothing was spilled. */
    @Override
    public void take(PartitionedRecordBuffer records) throws IOException {
        closeRuns();
        makeRoom(0);
        byte[] buffer = new byte[BUFFER_BYTES];
        long bytes = records.recordBytes();
        long written = append(0, bytes, run -> {
            for (int p = 0; p < partitions; p++) {
                if (records.has(p)) {
                    int partition = p;
                    CloseOnFailure.use(
                            run.begin(p, records.recordBytes(p)), out -> records.writeTo(out, partition, buffer));
                }
            }
        });
        recordBytes += bytes;
        largestSpill = Math.max(largestSpill, bytes);
        metrics.incMemoryBytesSpilled(records.heldBytes());
        metrics.incDiskBytesSpilled(written);
    }

    /** Content of the partitions of a run. */
    @FunctionalInterface
    private interface Partitions {
        void writeTo(SpillRun.Writer run) throws IOException;
    }

    /** Appends a run for that number of record bytes; returns the run. */
    private long append(int level, long bytes, Partitions content) throws IOException {
        return file(level).append(bytes, stored -> {
            FrameIndex[] index = new FrameIndex[1];
            CloseOnFailure.use(writer(stored, bytes), run -> {
                content.writeTo(run);
                index[0] = run.end();
            });
            return index[0];
        });
    }

    private SpillRun.Writer writer(OutputStream stored, long bytes) throws IOException {
        if (frames == null || framesWith == null || bytes / FRAMED_BYTES_PER_PARTITION < partitions) {
            return new StreamedRun.Writer(compressed(new UnclosedOutput(stored)));
        }
        framed = true;
        return new FramedRun.Writer(stored, partitions, frames, framesWith);
    }

    private OutputStream compressed(OutputStream out) {
        return codec == null ? out : codec.compressedOutputStream(out);
    }

    private InputStream decompressed(InputStream in) {
        return codec == null ? in : codec.compressedInputStream(in);
    }

    private SpillFile file(int level) throws IOException {
        if (files.isEmpty() && conf.getBoolean(COMPRESS, true)) {
            codec = CompressionCodec$.MODULE$.createCodec(conf);
            frames = framesWith == null ? null : Frames.of(conf);
        }
        while (files.size() <= level) {
            files.add(new SpillFile(paths.get()));
        }
        return files.get(level);
    }

    private long maxRuns() {
        return Math.max(MIN_RUNS, Math.min(largestSpill / SPILL_BYTES_PER_RUN, MAX_RUNS));
    }

    private void makeRoom(int level) throws IOException {
        if (file(level).runs() >= maxRuns()) {
            mergeUp(level);
        }
    }

    /** Makes one run of all that a file has, in the next one. */
    private void mergeUp(int level) throws IOException {
        makeRoom(level + 1);
        SpillFile file = file(level);
        byte[] buffer = new byte[BUFFER_BYTES];
        List<SpillRun> merged = new ArrayList<>();
        try {
            open(file, merged);
            // No fewer than each had, so a run with frames stays one with frames.
            append(level + 1, file.recordBytes(), run -> {
                for (int p = 0; p < partitions; p++) {
                    long bytes = 0;
                    for (SpillRun each : merged) {
                        bytes += each.moveTo(p) ? each.left() : 0;
                    }
                    if (bytes > 0) {
                        int partition = p;
                        CloseOnFailure.use(run.begin(p, bytes), out -> writeTo(out, partition, merged, buffer));
                    }
                }
            });
        } finally {
            close(merged);
        }
        file.clear();
    }

    private void open(SpillFile file, List<SpillRun> runs) {
        for (int i = 0; i < file.runs(); i++) {
            FrameIndex index = file.index(i);
            runs.add(
                    index == null
                            ? new StreamedRun(decompressed(file.open(i)), file.toString())
                            : new FramedRun(file, i, index, Objects.requireNonNull(frames)));
        }
    }

    private static void writeTo(OutputStream out, int partition, List<SpillRun> runs, byte[] buffer)
            throws IOException {
        for (SpillRun run : runs) {
            if (run.moveTo(partition)) {
                run.writeTo(out, buffer);
            }
        }
    }

    /** Returns the bytes of all records, as they were before they were compressed. */
    long recordBytes() {
        return recordBytes;
    }

    /** Returns whether some are in frames, which are best copied to a map output that is compressed. */
    boolean hasFrames() {
        return framed;
    }

    /** Returns whether a partition has records; cheap in the order of partitions. */
    boolean has(int partition) throws IOException {
        openRuns(partition);
        boolean any = false;
        for (SpillRun run : open) {
            any |= run.moveTo(partition);
        }
        return any;
    }

    /** Writes the records of a partition in the order in which they came, through a buffer; cheap in the same order. */
    void writeTo(OutputStream out, int partition, byte[] buffer) throws IOException {
        openRuns(partition);
        // Passed even if this fails, as when a destination refuses it: then runs stand within the partition.
        nextPartition = partition + 1;
        writeTo(out, partition, open, buffer);
    }

    /** Begins again where a partition is asked for that was passed already. */
    private void openRuns(int partition) throws IOException {
        if (partition < nextPartition) {
            closeRuns();
        }
        nextPartition = partition;
        if (!open.isEmpty()) {
            return;
        }
        mergeForReading();
        for (int level = files.size() - 1; level >= 0; level--) {
            open(files.get(level), open);
        }
    }

    /** The newest and smallest runs are merged until there are no more than a file may have. */
    private void mergeForReading() throws IOException {
        for (int level = 0; files.stream().mapToInt(SpillFile::runs).sum() > maxRuns(); level++) {
            mergeUp(level);
        }
    }

    private void closeRuns() {
        close(open);
    }

    private static void close(List<SpillRun> runs) {
        for (SpillRun run : runs) {
            try {
                run.close();
            } catch (IOException e) {
                LOG.warn("Cannot close a run of spilled records", e);
            }
        }
        runs.clear();
    }

    @Override
    public void close() {
        closeRuns();
        files.forEach(SpillFile::close);
        files.clear();
    }
}
