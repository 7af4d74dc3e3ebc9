// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Header of a frame of compressed records, with the layout in {@link Frames}.
 *
 * @param storedBytes that follow
 * @param rawBytes once decompressed
 */
record FrameHeader(FrameCodec codec, int storedBytes, int rawBytes) {
    static final int MARK_BYTES = 8;
    static final int BYTES = MARK_BYTES + 2 * Integer.BYTES;
    static final int MAX_RAW_BYTES = 256 << 10;

    /** Number of damaged bytes of a mark that are tolerated; no uncompressed block is as similar to it. */
    private static final int MAX_DAMAGED_BYTES = 2;

    private static final byte[] MARK = {(byte) 0xFF, 'R', 'D', 'M', 'A', 'z', 'i', 'p'};
    /** The codec's number is above the length. */
    private static final int CODEC_SHIFT = 24;

    private static final int MAX_STORED_BYTES = 2 * MAX_RAW_BYTES;

    static byte markByte(int index) {
        return MARK[index];
    }

    static boolean isMark(byte[] bytes, int offset) {
        return Arrays.equals(bytes, offset, offset + MARK_BYTES, MARK, 0, MARK_BYTES);
    }

    /** Returns whether what begins so is a mark, perhaps a damaged one, or may become that with what follows. */
    static boolean isNearMark(byte[] head, int length) {
        int different = 0;
        for (int i = 0; i < Math.min(length, MARK_BYTES); i++) {
            different += head[i] == MARK[i] ? 0 : 1;
        }
        return length > 0 && different <= MAX_DAMAGED_BYTES;
    }

    byte[] toBytes() {
        return ByteBuffer.allocate(BYTES)
                .put(MARK)
                .putInt((codec.number() << CODEC_SHIFT) | storedBytes)
                .putInt(rawBytes)
                .array();
    }

    /** Reads the header of the next frame; null where the stream ends. */
    static @Nullable FrameHeader read(InputStream in) throws IOException {
        byte[] bytes = in.readNBytes(BYTES);
        if (bytes.length == 0) {
            return null;
        }
        if (bytes.length < BYTES || !isMark(bytes, 0)) {
            throw new IOException("no frame header where a frame of compressed records should begin");
        }
        ByteBuffer lengths = ByteBuffer.wrap(bytes, MARK_BYTES, 2 * Integer.BYTES);
        int codecAndLength = lengths.getInt();
        int stored = codecAndLength & ((1 << CODEC_SHIFT) - 1);
        FrameCodec codec = FrameCodec.of(codecAndLength >>> CODEC_SHIFT);
        int raw = lengths.getInt();
        if (codec == null) {
            throw new IOException("invalid frame header: no codec has the number " + (codecAndLength >>> CODEC_SHIFT));
        }
        if (stored <= 0 || raw <= 0 || raw > MAX_RAW_BYTES || stored > MAX_STORED_BYTES) {
            throw new IOException("invalid frame header: " + stored + " compressed bytes for " + raw);
        }
        return new FrameHeader(codec, stored, raw);
    }
}
