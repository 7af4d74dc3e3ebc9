// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * Reader of {@link Frames} with any codec.
 *
 * <p><b>Threading:</b> another thread may close it than the one that reads, and then reading fails. <b>Ownership:</b>
 * closes the stream that it reads.
 */
final class FrameInput extends InputStream {
    private final FrameCodecs codecs;
    private final InputStream in;
    private InputStream frame = InputStream.nullInputStream();
    private int left;
    private boolean closed;
    private @Nullable RowUnpacker unpacker;
    private byte[] stored = new byte[0];
    private byte[] rows = new byte[0];

    FrameInput(FrameCodecs codecs, InputStream in) {
        this.codecs = codecs;
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
            // Deserializers may interpret that as the end of the records.
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
        FrameHeader header = FrameHeader.read(in);
        if (header == null) {
            return false;
        }
        int length = header.storedBytes();
        stored = atLeast(stored, length);
        int found = in.readNBytes(stored, 0, length);
        if (found < length) {
            throw new IOException("block ends " + (length - found) + " bytes before its last frame");
        }
        frame = header.codec() == FrameCodec.ROWS
                ? unpacked(length, header.rawBytes())
                : codecs.reader(header.codec()).compressedInputStream(new ByteArrayInputStream(stored, 0, length));
        left = header.rawBytes();
        return true;
    }

    private InputStream unpacked(int length, int raw) throws IOException {
        RowUnpacker made = unpacker;
        if (made == null) {
            made = new RowUnpacker();
            unpacker = made;
        }
        rows = atLeast(rows, raw);
        made.unpack(stored, length, rows, raw);
        return new ByteArrayInputStream(rows, 0, raw);
    }

    /** Returns an array for that number of bytes plus the slack of rows. */
    private static byte[] atLeast(byte[] array, int bytes) {
        int needed = bytes + VaryingBytes.SLACK_BYTES;
        return array.length >= needed ? array : new byte[needed];
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
