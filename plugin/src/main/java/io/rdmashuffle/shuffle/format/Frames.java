// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;

/**
 * Self-describing compression of blocks: a block has either uncompressed records, or frames, and no uncompressed block
 * begins almost like a frame (see {@link FrameMarkGuard}). Frames can be concatenated, and so can blocks of frames.
 *
 * <pre>
 *  frame:   mark (8)   codec (1)   bytes that follow (3)   bytes once decompressed (4)   bytes, as the codec makes them
 * </pre>
 *
 * Integers are big-endian. The first byte of the mark would make the length of a first row negative.
 *
 * <p><b>Threading:</b> opened streams may be closed by another thread, after which reads fail; everything else is for
 * one thread.
 */
public final class Frames {
    private final SparkConf conf;
    private @Nullable FrameCodecs codecs;

    private Frames(SparkConf conf) {
        this.conf = conf;
    }

    /** Creates frames of the codec that an application is configured with. */
    public static Frames of(SparkConf conf) {
        return new Frames(conf);
    }

    /** Most tasks read nothing that is compressed, and need no codec. */
    private FrameCodecs codecs() {
        FrameCodecs made = codecs;
        if (made == null) {
            made = FrameCodecs.of(conf);
            codecs = made;
        }
        return made;
    }

    public static int markBytes() {
        return FrameHeader.MARK_BYTES;
    }

    public static byte markByte(int index) {
        return FrameHeader.markByte(index);
    }

    /** Returns whether a block begins as frames do, which no bare one does. */
    public static boolean begin(StoredBlock block) throws IOException {
        byte[] head = new byte[FrameHeader.MARK_BYTES];
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
        return length >= FrameHeader.MARK_BYTES && FrameHeader.isMark(block, offset);
    }

    /**
     * Returns a compressing stream; closing it ends the block and closes {@code out}.
     *
     * @param cost receives time and sizes
     */
    public OutputStream compress(OutputStream out, FrameCodec with, CodecCost cost) {
        return new FrameOutput(codecs(), out, with, cost);
    }

    /**
     * Writes the records of frames to an output, through a buffer: as the frames that they are where {@link #compress}
     * made the output, else decompressed.
     *
     * @param frames of whole records; read to its end
     * @param out at the end of a record
     */
    public void copy(InputStream frames, OutputStream out, byte[] buffer) throws IOException {
        if (out instanceof FrameOutput framed) {
            framed.append(frames, buffer);
            return;
        }
        try (InputStream records = decompress(new BufferedInputStream(frames))) {
            for (int bytes = records.read(buffer); bytes >= 0; bytes = records.read(buffer)) {
                out.write(buffer, 0, bytes);
            }
        }
    }

    /**
     * Returns the records of blocks, whether they are bare or frames; closing the result closes {@code in}. Reading
     * fails where a byte or two of the first mark are damaged.
     */
    public InputStream open(InputStream in) throws IOException {
        // Not marked and reset: Spark's checksums would count the bytes twice.
        byte[] head = in.readNBytes(FrameHeader.MARK_BYTES);
        PushbackInputStream whole = new PushbackInputStream(in, FrameHeader.MARK_BYTES);
        whole.unread(head);
        // A damaged mark fails where it is read: Spark diagnoses what happens then, and not what happens here.
        return head.length == FrameHeader.MARK_BYTES && FrameHeader.isNearMark(head, head.length)
                ? decompress(whole)
                : whole;
    }

    /**
     * Returns the records of a block that begins as frames do; closing the result closes {@code in}. The block's
     * checksum must have been compared: Spark decompresses LZ4 without looking where it reads and writes
     * (CVE-2025-12183), so damaged bytes may end the process.
     */
    public InputStream decompress(InputStream in) {
        return new FrameInput(codecs(), in);
    }
}
