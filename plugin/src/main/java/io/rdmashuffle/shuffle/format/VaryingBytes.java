// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Offsets at which rows differ, as runs of up to eight bytes, each of which moves as one word.
 *
 * <p>Words are moved whole and overlap: bytes beyond the width of a run are overwritten by the next one, so arrays need
 * {@link #SLACK_BYTES} behind their last byte.
 *
 * <p><b>Threading:</b> none; for one thread.
 */
final class VaryingBytes {
    /** More words at the beginning of rows than any schema that fits into a frame several times; bounds the runs. */
    static final int MAX_WORDS = 512;

    static final int SLACK_BYTES = Long.BYTES;

    static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    /** The length before a row. */
    static final VarHandle PREFIX = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);

    private static final int BYTE_MASK = 0xFF;

    private int[] offsets = new int[0];
    private int[] widths = new int[0];
    private long[] masks = new long[0];
    private long[] constants = new long[0];
    private int runs;
    private int bytesPerRow;

    /** Returns a mask of the nonzero bytes of a word: bit 0 for the byte at the lowest address. */
    static int nonZeroBytes(long word) {
        int bits = 0;
        for (int i = 0; i < Long.BYTES; i++) {
            bits |= ((word >>> (Byte.SIZE * i)) & BYTE_MASK) == 0 ? 0 : 1 << i;
        }
        return bits;
    }

    /**
     * Takes which bytes vary.
     *
     * @param varying holds a byte for each word, as {@link #nonZeroBytes} returns it
     * @param words at most {@link #MAX_WORDS}
     */
    void set(byte[] varying, int at, int words) {
        if (offsets.length < words * Long.BYTES) {
            offsets = new int[words * Long.BYTES];
            widths = new int[words * Long.BYTES];
        }
        runs = 0;
        bytesPerRow = 0;
        int end = -1;
        for (int word = 0; word < words; word++) {
            for (int bits = varying[at + word] & BYTE_MASK; bits != 0; bits &= bits - 1) {
                int offset = word * Long.BYTES + Integer.numberOfTrailingZeros(bits);
                if (offset != end || widths[runs - 1] == Long.BYTES) {
                    offsets[runs] = offset;
                    widths[runs++] = 0;
                }
                widths[runs - 1]++;
                bytesPerRow++;
                end = offset + 1;
            }
        }
    }

    /** Sets the bytes between the runs, before {@link #scatter}. */
    void setConstants(byte[] row) {
        if (masks.length < runs) {
            masks = new long[offsets.length];
            constants = new long[offsets.length];
        }
        for (int i = 0; i < runs; i++) {
            masks[i] = widths[i] == Long.BYTES ? -1 : (1L << (Byte.SIZE * widths[i])) - 1;
            constants[i] = (long) WORD.get(row, offsets[i]) & ~masks[i];
        }
    }

    int bytesPerRow() {
        return bytesPerRow;
    }

    /** Copies the varying bytes of a row to the target; returns where they end. */
    int gather(byte[] rows, int row, byte[] target, int at) {
        int[] from = offsets;
        int[] step = widths;
        int to = at;
        for (int i = 0; i < runs; i++) {
            WORD.set(target, to, (long) WORD.get(rows, row + from[i]));
            to += step[i];
        }
        return to;
    }

    /** Copies the varying bytes of a row back among constant ones, which lie there already; returns where they end. */
    int scatter(byte[] source, int at, byte[] rows, int row) {
        int[] to = offsets;
        int[] step = widths;
        int from = at;
        for (int i = 0; i < runs; i++) {
            WORD.set(rows, row + to[i], ((long) WORD.get(source, from) & masks[i]) | constants[i]);
            from += step[i];
        }
        return from;
    }

    /** Copies whole words. */
    static void copyWords(byte[] source, int from, byte[] target, int to, int length) {
        for (int i = 0; i < length; i += Long.BYTES) {
            WORD.set(target, to + i, (long) WORD.get(source, from + i));
        }
    }
}
