// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import io.rdmashuffle.store.OutputRefusedException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/**
 * Refuses a block of bare records that a reader would take for {@link Frames}: one that begins with their mark, or that
 * is a prefix of it, which the blocks that follow could complete. Spark SQL's rows never begin so, other records hardly
 * ever do.
 *
 * <p><b>Threading:</b> none; for one task thread.
 */
public final class FrameMarkGuard extends FilterOutputStream {
    private int alike;
    private boolean different;

    public FrameMarkGuard(OutputStream out) {
        super(out);
    }

    /**
     * Looks at a block at once.
     *
     * @param head the first bytes of the block, as many as the mark has or as there are
     * @throws OutputRefusedException if the block begins with the mark, or is a prefix of it
     */
    public static void check(byte[] head, int length) throws OutputRefusedException {
        int alike = 0;
        while (alike < length && head[alike] == FrameHeader.markByte(alike)) {
            alike++;
        }
        if (length > 0 && alike == length) {
            throw new OutputRefusedException("a block of bare records begins with the mark of a compressed frame");
        }
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] source, int offset, int length) throws IOException {
        for (int i = 0; i < length && !different && alike < FrameHeader.MARK_BYTES; i++) {
            if (source[offset + i] == FrameHeader.markByte(alike)) {
                alike++;
            } else {
                different = true;
            }
        }
        if (alike == FrameHeader.MARK_BYTES) {
            throw new OutputRefusedException("a block of bare records begins with the mark of a compressed frame");
        }
        out.write(source, offset, length);
    }

    @Override
    public void close() throws IOException {
        boolean refused = !different && alike > 0;
        super.close();
        if (refused) {
            throw new OutputRefusedException("a block of bare records is a prefix of the mark of a compressed frame");
        }
    }
}
