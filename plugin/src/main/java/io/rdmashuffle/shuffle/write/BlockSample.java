// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.lifecycle.CloseOnFailure;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.io.CompressionCodec;

/**
 * Compresses the beginnings of some blocks of a map output, each in a stream of its own as sort shuffle's are, and
 * keeps no byte of it.
 *
 * <p><b>Threading:</b> one task thread.
 */
final class BlockSample {
    /** As many at least, where there are as many partitions; less than twice as many. */
    private static final int BLOCKS = 4;

    private final CompressionCodec codec;
    private final long headerBytes;
    private long blocks;
    private long rawBytes;
    private long compressedBytes;

    BlockSample(CompressionCodec codec) throws IOException {
        this.codec = codec;
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

    private void add(byte[] block, int length) throws IOException {
        blocks++;
        rawBytes += length;
        compressedBytes += compressed(block, length);
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
