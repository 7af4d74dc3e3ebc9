// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import io.rdmashuffle.store.OutputRefusedException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/**
 * Check that refuses a block of uncompressed records that a reader would mistake for {@link Frames}, intact or damaged:
 * it begins almost like the mark, or is so short that the next block could complete the mark. Spark SQL rows never do.
 * Of other records, almost only blocks of one or two bytes do: their map output goes to Spark's shuffle file.
 *
 * <p><b>Threading:</b> none; for one task thread.
 */
public final class FrameMarkGuard extends FilterOutputStream {
    private final byte[] head = new byte[FrameHeader.MARK_BYTES];
    private int filled;

    public FrameMarkGuard(OutputStream out) {
        super(out);
    }

    /**
     * Verifies a block.
     *
     * @param head the first bytes of the block, as many as the mark has or as there are
     * @throws OutputRefusedException if the block is ambiguous
     */
    public static void check(byte[] head, int length) throws OutputRefusedException {
        if (FrameHeader.isNearMark(head, length)) {
            throw new OutputRefusedException("a block of uncompressed records begins like a compressed frame");
        }
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] source, int offset, int length) throws IOException {
        if (filled < head.length) {
            int part = Math.min(length, head.length - filled);
            System.arraycopy(source, offset, head, filled, part);
            filled += part;
            if (filled == head.length) {
                check(head, filled);
            }
        }
        out.write(source, offset, length);
    }

    @Override
    public void close() throws IOException {
        super.close();
        if (filled < head.length) {
            check(head, filled);
        }
    }
}
