// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import io.rdmashuffle.store.OutputRefusedException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/**
 * Refuses a block of bare records that a reader would take for {@link Frames}, or for frames whose mark is damaged: one
 * that begins with nearly the mark, or is so short that blocks that follow could make that of it. Spark SQL's rows
 * never begin so. Of other records, blocks of one or two bytes do, and hardly any others: a map output with one of them
 * goes to Spark's shuffle file.
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
     * Looks at a block at once.
     *
     * @param head the first bytes of the block, as many as the mark has or as there are
     * @throws OutputRefusedException if the block is to be refused
     */
    public static void check(byte[] head, int length) throws OutputRefusedException {
        if (FrameHeader.isNearMark(head, length)) {
            throw new OutputRefusedException("a block of bare records begins like a compressed frame");
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
