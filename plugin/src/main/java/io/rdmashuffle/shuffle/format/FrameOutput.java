// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import io.rdmashuffle.lifecycle.CloseOnFailure;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Objects;
import org.apache.spark.unsafe.Platform;
import org.jspecify.annotations.Nullable;

/**
 * Output stream that writes a block as {@link Frames}.
 *
 * <p>Frames of packed rows end at row boundaries. Rows that do not pack well, other records, and rows larger than a
 * frame are compressed with the application's codec.
 *
 * <p><b>Threading:</b> none; for one task thread. <b>Ownership:</b> closes the stream that it writes to.
 */
final class FrameOutput extends OutputStream implements PieceSink {
    private final FrameCodecs codecs;
    private final OutputStream out;
    private final FrameCodec with;
    private final CodecCost cost;
    private final ByteArrayOutputStream compressed = new ByteArrayOutputStream();
    private final @Nullable RowPacker packer;
    private byte[] packed = new byte[0];
    private byte[] raw = new byte[FrameCodecs.FIRST_FRAME_BYTES + VaryingBytes.SLACK_BYTES];
    private int filled;
    /** Remaining bytes that are not packed. */
    private long unpackable;

    FrameOutput(FrameCodecs codecs, OutputStream out, FrameCodec with, CodecCost cost) {
        this.codecs = codecs;
        this.out = out;
        this.with = with;
        this.cost = cost;
        this.packer = with == FrameCodec.ROWS ? new RowPacker() : null;
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] source, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, source.length);
        writeFrom(source, Platform.BYTE_ARRAY_OFFSET + (long) offset, length);
    }

    @Override
    public void writeFrom(@Nullable Object base, long offset, int length) throws IOException {
        int done = 0;
        while (done < length) {
            if (filled == FrameHeader.MAX_RAW_BYTES) {
                writeFrame();
            }
            int piece = Math.min(length - done, FrameHeader.MAX_RAW_BYTES - filled);
            int needed = filled + piece + VaryingBytes.SLACK_BYTES;
            if (needed > raw.length) {
                int most = FrameHeader.MAX_RAW_BYTES + VaryingBytes.SLACK_BYTES;
                raw = Arrays.copyOf(raw, Math.min(most, Math.max(needed, 2 * raw.length)));
            }
            Platform.copyMemory(base, offset + done, raw, Platform.BYTE_ARRAY_OFFSET + (long) filled, piece);
            filled += piece;
            done += piece;
        }
    }

    /**
     * Flushes buffered records as frames, then copies existing frames unchanged.
     *
     * @param frames frames of complete records; read to the end
     */
    void append(InputStream frames, byte[] buffer) throws IOException {
        finishFrames();
        for (int bytes = frames.read(buffer); bytes >= 0; bytes = frames.read(buffer)) {
            out.write(buffer, 0, bytes);
        }
    }

    private void finishFrames() throws IOException {
        while (filled > 0) {
            writeFrame();
        }
    }

    private void writeFrame() throws IOException {
        int taken = packer == null ? filled : writeRows(packer);
        if (packer == null) {
            writeCompressed(with, filled, System.nanoTime());
        }
        System.arraycopy(raw, taken, raw, 0, filled - taken);
        filled -= taken;
    }

    /** Writes complete rows packed, or other bytes compressed; returns the number of bytes. */
    private int writeRows(RowPacker rows) throws IOException {
        long started = System.nanoTime();
        int whole = unpackable > 0 ? 0 : rows.compare(raw, filled);
        if (whole == 0) {
            unpackable = unpackable > 0 ? unpackable : RowPacker.firstRowBytes(raw, filled);
            int taken = (int) Math.min(unpackable, filled);
            unpackable -= taken;
            writeCompressed(FrameCodec.APPLICATION, taken, started);
            return taken;
        }
        if (packed.length < RowPacker.packedRoom(whole)) {
            packed = new byte[RowPacker.packedRoom(whole)];
        }
        int length = rows.pack(raw, packed);
        if (length < 0) {
            // The rest of the block has rows of the same schema.
            unpackable = Long.MAX_VALUE;
            writeCompressed(FrameCodec.APPLICATION, whole, started);
        } else {
            writeHeader(FrameCodec.ROWS, length, whole, started);
            out.write(packed, 0, length);
        }
        return whole;
    }

    private void writeCompressed(FrameCodec as, int bytes, long started) throws IOException {
        compressed.reset();
        CloseOnFailure.use(
                codecs.writer(as, bytes).compressedOutputStream(compressed), codec -> codec.write(raw, 0, bytes));
        writeHeader(as, compressed.size(), bytes, started);
        compressed.writeTo(out);
    }

    private void writeHeader(FrameCodec as, int length, int rawBytes, long started) throws IOException {
        cost.add(rawBytes, FrameHeader.BYTES + length, System.nanoTime() - started);
        out.write(new FrameHeader(as, length, rawBytes).toBytes());
    }

    @Override
    public void close() throws IOException {
        CloseOnFailure.use(out, stream -> finishFrames());
    }
}
