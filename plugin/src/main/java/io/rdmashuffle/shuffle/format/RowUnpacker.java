// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Decoder of rows packed by {@link RowPacker}.
 *
 * <p>Damaged bytes make wrong rows, or fail; nothing is read or written outside of the arrays.
 *
 * <p><b>Threading:</b> none; for one thread.
 */
final class RowUnpacker {
    private static final int BYTE_MASK = 0xFF;

    private final VaryingBytes varying = new VaryingBytes();
    private byte[] constant = new byte[0];
    private int rows;
    private int words;
    private int lengthBytes;

    /**
     * Unpacks rows.
     *
     * @param packed packed bytes, followed by {@link VaryingBytes#SLACK_BYTES}
     * @param target array for the rows, with the same slack
     * @param bytes length of the rows, length fields included
     * @throws IOException if the packed bytes do not decode to that length
     */
    void unpack(byte[] packed, int length, byte[] target, int bytes) throws IOException {
        int lengths = readHead(packed, length);
        long rowBytes = Integer.BYTES + (long) words * Long.BYTES;
        long tailBytes = bytes - rows * rowBytes;
        long end = lengths + rows * (long) (lengthBytes + varying.bytesPerRow()) + tailBytes;
        check(tailBytes >= 0 && end == length, "rows of another length than their frame's");
        check(tailBytes == 0 || lengthBytes != 0, "tails of no length");
        int runs = lengths + rows * lengthBytes;
        int tails = runs + rows * varying.bytesPerRow();
        int shared = words * Long.BYTES;
        int to = 0;
        for (int i = 0; i < rows; i++) {
            int tail = 0;
            for (int k = 0; k < lengthBytes; k++) {
                tail |= (packed[lengths++] & BYTE_MASK) << (Byte.SIZE * k);
            }
            tail *= Long.BYTES;
            check(tail <= length - tails, "a row that is longer than its frame");
            VaryingBytes.PREFIX.set(target, to, shared + tail);
            to += Integer.BYTES;
            VaryingBytes.copyWords(constant, 0, target, to, shared);
            runs = varying.scatter(packed, runs, target, to);
            to += shared;
            VaryingBytes.copyWords(packed, tails, target, to, tail);
            to += tail;
            tails += tail;
        }
        check(tails == length, "rows that are shorter than their frame");
    }

    /** Reads what all rows have in common; returns where that ends. */
    private int readHead(byte[] packed, int length) throws IOException {
        check(length >= RowPacker.HEADER_BYTES, "no header");
        ByteBuffer head = ByteBuffer.wrap(packed);
        rows = head.getInt();
        words = head.getShort();
        lengthBytes = head.get();
        check(rows > 0 && words >= 0 && words <= VaryingBytes.MAX_WORDS, "a header of no rows");
        check(lengthBytes >= 0 && lengthBytes <= 2, "lengths of no length");
        int masks = RowPacker.HEADER_BYTES + words;
        int at = masks + words;
        check(at <= length, "no masks");
        varying.set(packed, RowPacker.HEADER_BYTES, words);
        constant = new byte[words * Long.BYTES + VaryingBytes.SLACK_BYTES];
        for (int i = 0; i < words; i++) {
            for (int bits = packed[masks + i] & BYTE_MASK; bits != 0; bits &= bits - 1) {
                check(at < length, "too few constant bytes");
                constant[i * Long.BYTES + Integer.numberOfTrailingZeros(bits)] = packed[at++];
            }
        }
        varying.setConstants(constant);
        return at;
    }

    private static void check(boolean right, String otherwise) throws IOException {
        if (!right) {
            throw new IOException("damaged frame of packed rows: " + otherwise);
        }
    }
}
