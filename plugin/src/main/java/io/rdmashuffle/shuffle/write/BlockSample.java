// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.shuffle.format.CodecCost;
import io.rdmashuffle.shuffle.format.FrameCodec;
import io.rdmashuffle.shuffle.format.Frames;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.io.CompressionCodec;

/**
 * Compresses the beginnings of some blocks of a map output, and keeps no byte of it: each in a stream of its own as
 * sort shuffle's are, for sizes, and in frames, for the decision about compression.
 *
 * <p><b>Threading:</b> one task thread.
 */
final class BlockSample {
    /** As many at least, where there are as many partitions; less than twice as many. */
    private static final int BLOCKS = 4;

    private final CompressionCodec codec;
    private final Frames frames;
    private final FrameCodec with;
    private final CodecCost cost = new CodecCost();
    private final long headerBytes;
    private long blocks;
    private long rawBytes;
    private long compressedBytes;
    private long nanos;

    /**
     * Starts without a block.
     *
     * @param codec of sort shuffle's streams
     * @param with codec of the frames in which a compressed shuffle would be stored
     */
    BlockSample(CompressionCodec codec, Frames frames, FrameCodec with) throws IOException {
        this.codec = codec;
        this.frames = frames;
        this.with = with;
        this.headerBytes = Math.max(0, compressed(new byte[1], 1) - 1);
    }

    /** Accepts a block that has records in memory from each of four to seven equal parts of the partitions. */
    void take(PartitionedRecordBuffer records, int partitions, byte[] buffer) throws IOException {
        int step = Math.max(1, partitions / BLOCKS);
        for (int from = 0; from < partitions; from += step) {
            for (int p = from; p < Math.min(partitions, from + step); p++) {
                if (records.has(p)) {
                    add(buffer, records.head(p, buffer));
                    break;
                }
            }
        }
    }

    /** Accepts one block. */
    void add(byte[] block, int length) throws IOException {
        blocks++;
        rawBytes += length;
        long before = System.nanoTime();
        compressedBytes += compressed(block, length);
        nanos += System.nanoTime() - before;
        CloseOnFailure.use(frames.compress(new Counting(), with, cost), stream -> stream.write(block, 0, length));
    }

    private long compressed(byte[] block, int length) throws IOException {
        Counting counting = new Counting();
        CloseOnFailure.use(codec.compressedOutputStream(counting), stream -> stream.write(block, 0, length));
        return counting.bytes;
    }

    /** Returns the codec's overhead per block. */
    long headerBytes() {
        return headerBytes;
    }

    long rawBytes() {
        return rawBytes;
    }

    /** Returns the compressed bytes without the headers of the blocks. */
    long compressedBytes() {
        return Math.max(0, compressedBytes - blocks * headerBytes);
    }

    /** Returns the bytes in frames. */
    long framedBytes() {
        return cost.storedBytes();
    }

    /** Returns the time of the streams or of the frames, whichever is less: code of either may not be compiled yet. */
    long nanos() {
        return Math.min(nanos, cost.nanos());
    }

    private static final class Counting extends OutputStream {
        private long bytes;

        @Override
        public void write(int b) {
            bytes++;
        }

        @Override
        public void write(byte[] source, int offset, int length) {
            bytes += length;
        }
    }
}
