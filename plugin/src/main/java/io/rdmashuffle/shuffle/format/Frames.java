// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.memory.StoredSlice;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;

/**
 * Compresses blocks so that readers need not know beforehand: a block is either bare records, or frames, and no bare
 * block begins as frames do (see {@link FrameMarkGuard}). Frames may follow one another, so blocks of frames may too.
 *
 * <pre>
 *  frame:   mark (8)   codec (1)   bytes that follow (3)   bytes once decompressed (4)   bytes, as the codec makes them
 * </pre>
 *
 * Integers are most significant byte first. The mark begins with a byte that would make the length of a first row
 * negative.
 *
 * <p><b>Threading:</b> what it opens may be closed by another thread than the one that reads, and then reading fails;
 * all else is for one thread.
 *
 * @param codec {@link FrameCodec#APPLICATION}, the same in the whole application
 * @param smallCodec the same with buffers for a first frame: Spark's LZ4 makes two of 32 KiB for each stream otherwise,
 *     and the first frame of a block is often its only one
 * @param zstd {@link FrameCodec#ZSTD}
 */
public record Frames(CompressionCodec codec, CompressionCodec smallCodec, CompressionCodec zstd) {
    private static final byte[] MARK = {(byte) 0xFF, 'R', 'D', 'M', 'A', 'z', 'i', 'p'};
    private static final int HEADER_BYTES = MARK.length + 2 * Integer.BYTES;
    /** The codec's number is above the length. */
    private static final int CODEC_SHIFT = 24;

    private static final int MAX_FRAME_BYTES = 256 << 10;
    /** Blocks of many a shuffle are small; their first frame need not take a whole frame's room. */
    private static final int FIRST_FRAME_BYTES = 4 << 10;

    /** Creates frames of the codec that an application is configured with. */
    public static Frames of(SparkConf conf) {
        SparkConf small = conf.clone();
        for (String each : List.of("lz4", "snappy")) {
            small.set("spark.io.compression." + each + ".blockSize", FIRST_FRAME_BYTES + "b");
        }
        return new Frames(
                CompressionCodec$.MODULE$.createCodec(conf),
                CompressionCodec$.MODULE$.createCodec(small),
                CompressionCodec$.MODULE$.createCodec(conf, "zstd"));
    }

    public static int markBytes() {
        return MARK.length;
    }

    public static byte markByte(int index) {
        return MARK[index];
    }

    /** Returns whether a block begins as frames do, which no bare one does. */
    public static boolean begin(StoredBlock block) throws IOException {
        byte[] head = new byte[MARK.length];
        int filled = 0;
        for (int i = 0; i < block.pieces().size() && filled < head.length; i++) {
            StoredSlice piece = block.pieces().get(i);
            int length = (int) Math.min(head.length - filled, piece.lengthBytes());
            piece.getBytes(0, head, filled, length);
            filled += length;
        }
        return begin(head, 0, filled);
    }

    /** Returns whether a block that was copied begins as frames do. */
    public static boolean begin(byte[] block, int offset, int length) {
        return length >= MARK.length && Arrays.equals(block, offset, offset + MARK.length, MARK, 0, MARK.length);
    }

    /**
     * Compresses what is written to the result; closing it ends the block and closes {@code out}.
     *
     * @param cost is told of what that took
     */
    public OutputStream compress(OutputStream out, FrameCodec with, CodecCost cost) {
        return new Output(out, with, cost);
    }

    /** Returns the records of blocks, whether they are bare or frames; closing the result closes {@code in}. */
    public InputStream open(InputStream in) throws IOException {
        // Not marked and reset: Spark's checksums would count the bytes twice.
        byte[] head = in.readNBytes(MARK.length);
        PushbackInputStream whole = new PushbackInputStream(in, MARK.length);
        whole.unread(head);
        return Arrays.equals(head, MARK) ? decompress(whole) : whole;
    }

    /**
     * Returns the records of a block that begins as frames do; closing the result closes {@code in}. The block's
     * checksum must have been compared: Spark decompresses LZ4 without looking where it reads and writes
     * (CVE-2025-12183), so damaged bytes may end the process.
     */
    public InputStream decompress(InputStream in) {
        return new Input(in);
    }

    private final class Output extends OutputStream {
        private final OutputStream out;
        private final FrameCodec with;
        private final CodecCost cost;
        private final ByteArrayOutputStream compressed = new ByteArrayOutputStream();
        private byte[] raw = new byte[FIRST_FRAME_BYTES];
        private int filled;

        Output(OutputStream out, FrameCodec with, CodecCost cost) {
            this.out = out;
            this.with = with;
            this.cost = cost;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] source, int offset, int length) throws IOException {
            int done = 0;
            while (done < length) {
                if (filled == MAX_FRAME_BYTES) {
                    writeFrame();
                }
                int piece = Math.min(length - done, MAX_FRAME_BYTES - filled);
                if (filled + piece > raw.length) {
                    raw = Arrays.copyOf(raw, Math.min(MAX_FRAME_BYTES, Math.max(filled + piece, 2 * raw.length)));
                }
                System.arraycopy(source, offset + done, raw, filled, piece);
                filled += piece;
                done += piece;
            }
        }

        private void writeFrame() throws IOException {
            compressed.reset();
            long started = System.nanoTime();
            try (OutputStream codecs = codecFor(filled).compressedOutputStream(compressed)) {
                codecs.write(raw, 0, filled);
            }
            cost.add(filled, HEADER_BYTES + compressed.size(), System.nanoTime() - started);
            out.write(MARK);
            out.write(ByteBuffer.allocate(2 * Integer.BYTES)
                    .putInt(with.number() << CODEC_SHIFT | compressed.size())
                    .putInt(filled)
                    .array());
            compressed.writeTo(out);
            filled = 0;
        }

        private CompressionCodec codecFor(int bytes) {
            if (with == FrameCodec.ZSTD) {
                return zstd;
            }
            return bytes <= FIRST_FRAME_BYTES ? smallCodec : codec;
        }

        @Override
        public void close() throws IOException {
            if (filled > 0) {
                writeFrame();
            }
            out.close();
        }
    }

    private final class Input extends InputStream {
        private final InputStream in;
        private InputStream frame = InputStream.nullInputStream();
        private int left;
        private boolean closed;

        Input(InputStream in) {
            this.in = in;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public synchronized int read(byte[] target, int offset, int length) throws IOException {
            if (closed) {
                throw new IOException("the task that read this block has ended");
            }
            if (length == 0) {
                return 0;
            }
            try {
                return left == 0 && !nextFrame() ? -1 : readFrame(target, offset, Math.min(length, left));
            } catch (EOFException e) {
                // Deserialisers may take that for the end of the records.
                throw new IOException("truncated frame of compressed records", e);
            }
        }

        private int readFrame(byte[] target, int offset, int length) throws IOException {
            int count = frame.read(target, offset, length);
            if (count < 0) {
                throw new IOException("frame of compressed records ends " + left + " bytes early");
            }
            left -= count;
            if (left == 0) {
                if (frame.read() >= 0) {
                    throw new IOException("frame of compressed records is longer than its header says");
                }
                closeFrame();
            }
            return count;
        }

        private boolean nextFrame() throws IOException {
            byte[] header = in.readNBytes(HEADER_BYTES);
            if (header.length == 0) {
                return false;
            }
            if (header.length < HEADER_BYTES || !Arrays.equals(header, 0, MARK.length, MARK, 0, MARK.length)) {
                throw new IOException("no frame header where a frame of compressed records should begin");
            }
            ByteBuffer lengths = ByteBuffer.wrap(header, MARK.length, 2 * Integer.BYTES);
            int codecAndLength = lengths.getInt();
            int compressed = codecAndLength & (1 << CODEC_SHIFT) - 1;
            FrameCodec with = FrameCodec.of(codecAndLength >>> CODEC_SHIFT);
            int raw = lengths.getInt();
            if (with == null) {
                throw new IOException(
                        "invalid frame header: no codec has the number " + (codecAndLength >>> CODEC_SHIFT));
            }
            if (compressed <= 0 || raw <= 0 || raw > MAX_FRAME_BYTES || compressed > 2 * MAX_FRAME_BYTES) {
                throw new IOException("invalid frame header: " + compressed + " compressed bytes for " + raw);
            }
            byte[] bytes = in.readNBytes(compressed);
            if (bytes.length < compressed) {
                throw new IOException("block ends " + (compressed - bytes.length) + " bytes before its last frame");
            }
            CompressionCodec of = with == FrameCodec.ZSTD ? zstd : codec;
            frame = of.compressedInputStream(new ByteArrayInputStream(bytes));
            left = raw;
            return true;
        }

        /** Zstandard's streams hold native memory. */
        private void closeFrame() throws IOException {
            frame.close();
            frame = InputStream.nullInputStream();
        }

        @Override
        public synchronized void close() throws IOException {
            closed = true;
            closeFrame();
            left = 0;
            in.close();
        }
    }
}
