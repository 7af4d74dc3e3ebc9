// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.nio.ByteBuffer;

/**
 * Encoder of packed Spark SQL rows. Rows of one schema have the same fields at the same offsets, in words of eight
 * bytes, most of which are zero or equal in all rows. Bytes at the same offset of all rows are compared, and only bytes
 * at differing offsets are stored per row.
 *
 * <pre>
 *  packed:   rows (4)   words that all rows have: W (2)   bytes of a tail's length: L, 0 if there are no tails (1)
 *            of each of the W words, one bit per byte: varying (W)   constant and not zero (W)
 *            the latter bytes, once
 *            of each row: words of its tail, beyond the W words (L, little-endian)
 *            of each row: its bytes that vary
 *            of each row: its tail, unchanged
 * </pre>
 *
 * <p>W is that of the shortest row, up to {@link VaryingBytes#MAX_WORDS}, so rows without strings have no tails. Rows
 * with many strings hardly become smaller: a general codec does better there.
 *
 * <p><b>Threading:</b> none; for one thread.
 */
final class RowPacker {
    static final int HEADER_BYTES = Integer.BYTES + Short.BYTES + 1;
    /** A row's length says that it is no row, or one that no UnsafeRow has. */
    private static final int NO_LENGTH_BITS = 0x8000_0007;

    private static final int ONE_BYTE_LENGTHS = 1 << Byte.SIZE;
    /** LZ4 leaves about three eighths of rows: what packing leaves more of is for it, in spite of its time. */
    private static final int OF_EIGHTHS = 3;

    private final VaryingBytes varying = new VaryingBytes();
    private final long[] first = new long[VaryingBytes.MAX_WORDS];
    private final long[] differences = new long[VaryingBytes.MAX_WORDS];
    private int bytes;
    private int rows;
    private int words;
    private int maxWords;

    /** Returns the array length for that number of packed bytes. */
    static int packedRoom(int bytes) {
        // A few rows may become more than they are, until that is noticed.
        return bytes + bytes / 2 + HEADER_BYTES + VaryingBytes.SLACK_BYTES;
    }

    /** Returns the number of bytes of the first row with its length field; all if there is no row. */
    static long firstRowBytes(byte[] source, int length) {
        int row = length < Integer.BYTES ? -1 : ByteBuffer.wrap(source).getInt();
        return (row & NO_LENGTH_BITS) != 0 ? length : (long) row + Integer.BYTES;
    }

    /**
     * Compares rows; returns how many bytes whole ones have, 0 if not even one is whole, or if something that is no row
     * is among them.
     *
     * @param source has {@link VaryingBytes#SLACK_BYTES} behind its bytes
     */
    int compare(byte[] source, int length) {
        long firstBytes = firstRowBytes(source, length);
        bytes = 0;
        if (length < Integer.BYTES || firstBytes > length) {
            return 0;
        }
        int common = Math.min(VaryingBytes.MAX_WORDS, ((int) firstBytes - Integer.BYTES) / Long.BYTES);
        for (int i = 0; i < common; i++) {
            first[i] = (long) VaryingBytes.WORD.get(source, Integer.BYTES + i * Long.BYTES);
            differences[i] = 0;
        }
        int most = 0;
        int count = 0;
        int at = 0;
        while (length - at >= Integer.BYTES) {
            int row = rowLength(source, at);
            if ((row & NO_LENGTH_BITS) != 0) {
                return 0;
            }
            if (row > length - at - Integer.BYTES) {
                break;
            }
            common = Math.min(common, row / Long.BYTES);
            most = Math.max(most, row / Long.BYTES);
            for (int i = 0, from = at + Integer.BYTES; i < common; i++, from += Long.BYTES) {
                differences[i] |= first[i] ^ (long) VaryingBytes.WORD.get(source, from);
            }
            at += Integer.BYTES + row;
            count++;
        }
        rows = count;
        words = common;
        maxWords = most;
        bytes = at;
        return at;
    }

    /**
     * Packs the rows that were compared; returns how many bytes they have become, -1 if too many to be worth it.
     *
     * @param target has {@link #packedRoom}
     */
    int pack(byte[] source, byte[] target) {
        int lengthBytes = maxWords == words ? 0 : maxWords - words < ONE_BYTE_LENGTHS ? 1 : 2;
        ByteBuffer.wrap(target).putInt(rows).putShort((short) words).put((byte) lengthBytes);
        for (int i = 0; i < words; i++) {
            target[HEADER_BYTES + i] = (byte) VaryingBytes.nonZeroBytes(differences[i]);
        }
        varying.set(target, HEADER_BYTES, words);
        int lengths = putConstants(target);
        int runs = lengths + rows * lengthBytes;
        int tails = runs + rows * varying.bytesPerRow();
        int packed = tails + bytes - rows * (Integer.BYTES + words * Long.BYTES);
        if (packed > (long) bytes * OF_EIGHTHS / Byte.SIZE) {
            return -1;
        }
        for (int at = 0; at < bytes; at += Integer.BYTES + rowLength(source, at)) {
            runs = varying.gather(source, at + Integer.BYTES, target, runs);
        }
        if (lengthBytes != 0) {
            putTails(source, target, lengths, lengthBytes, tails);
        }
        return packed;
    }

    private int putConstants(byte[] target) {
        int masks = HEADER_BYTES + words;
        int at = masks + words;
        for (int i = 0; i < words; i++) {
            int bits = VaryingBytes.nonZeroBytes(first[i]) & ~target[HEADER_BYTES + i];
            target[masks + i] = (byte) bits;
            for (; bits != 0; bits &= bits - 1) {
                target[at++] = (byte) (first[i] >>> (Byte.SIZE * Integer.numberOfTrailingZeros(bits)));
            }
        }
        return at;
    }

    private void putTails(byte[] source, byte[] target, int lengths, int lengthBytes, int tails) {
        int length = lengths;
        int to = tails;
        int shared = words * Long.BYTES;
        int row;
        for (int at = 0; at < bytes; at += Integer.BYTES + row) {
            row = rowLength(source, at);
            int tailWords = row / Long.BYTES - words;
            for (int i = 0; i < lengthBytes; i++) {
                target[length++] = (byte) (tailWords >>> (Byte.SIZE * i));
            }
            VaryingBytes.copyWords(source, at + Integer.BYTES + shared, target, to, row - shared);
            to += row - shared;
        }
    }

    private static int rowLength(byte[] source, int at) {
        return (int) VaryingBytes.PREFIX.get(source, at);
    }
}
