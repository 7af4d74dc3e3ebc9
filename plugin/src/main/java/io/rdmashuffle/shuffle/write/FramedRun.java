// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.shuffle.format.CodecCost;
import io.rdmashuffle.shuffle.format.FrameCodec;
import io.rdmashuffle.shuffle.format.Frames;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.CRC32C;
import java.util.zip.CheckedInputStream;

/**
 * Spilled records in separate {@link Frames} per partition, so that they become a block of a map output without
 * decompression. An index in memory has their offsets.
 *
 * <p>Their checksums are compared when they are read: otherwise disk damage would go unnoticed until the block gets its
 * own checksum.
 *
 * <p><b>Threading:</b> none; one thread at a time. <b>Ownership:</b> borrows the file.
 */
final class FramedRun implements SpillRun {
    private final SpillFile file;
    private final int run;
    private final FrameIndex index;
    private final Frames frames;
    private int partition = -1;
    private long left;

    /**
     * Begins before the first partition.
     *
     * @param run the number of this one in the file
     */
    FramedRun(SpillFile file, int run, FrameIndex index, Frames frames) {
        this.file = file;
        this.run = run;
        this.index = index;
        this.frames = frames;
    }

    @Override
    public boolean moveTo(int wanted) {
        if (partition < wanted) {
            partition = wanted;
            left = index.recordBytes(wanted);
        }
        return partition == wanted && index.recordBytes(wanted) > 0;
    }

    @Override
    public long left() {
        return left;
    }

    @Override
    public void writeTo(OutputStream out, byte[] buffer) throws IOException {
        if (left == 0) {
            return;
        }
        CRC32C crc = new CRC32C();
        try (InputStream part = file.open(run, index.start(partition), index.end(partition))) {
            frames.copy(new CheckedInputStream(part, crc), out, buffer);
        }
        left = 0;
        if ((int) crc.getValue() != index.checksum(partition)) {
            throw new IOException(file + ": spilled records of partition " + partition + " have changed on the disk");
        }
    }

    @Override
    public void close() {}

    /** Writer of a run of frames. */
    static final class Writer implements SpillRun.Writer {
        private final OutputStream out;
        private final Frames frames;
        private final FrameCodec codec;
        private final FrameIndex index;
        private long position;

        /** Begins a run where {@code out} is. */
        Writer(OutputStream out, int partitions, Frames frames, FrameCodec codec) {
            this.out = out;
            this.frames = frames;
            this.codec = codec;
            this.index = new FrameIndex(partitions);
        }

        @Override
        public OutputStream begin(int partition, long bytes) {
            return frames.compress(new Partition(partition, bytes), codec, new CodecCost());
        }

        @Override
        public FrameIndex end() {
            index.skipTo(index.partitions());
            return index;
        }

        @Override
        public void close() {}

        /** Counter and checksum of the frames of a partition. */
        private final class Partition extends FilterOutputStream {
            private final int partition;
            private final long recordBytes;
            private final CRC32C crc = new CRC32C();

            Partition(int partition, long recordBytes) {
                super(Writer.this.out);
                this.partition = partition;
                this.recordBytes = recordBytes;
            }

            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] source, int offset, int length) throws IOException {
                out.write(source, offset, length);
                crc.update(source, offset, length);
                position += length;
            }

            /** Leaves the file open. */
            @Override
            public void close() {
                index.add(partition, position, recordBytes, (int) crc.getValue());
            }
        }
    }
}
