// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import java.io.IOException;
import java.io.OutputStream;
import java.util.List;

/**
 * Bytes of a map output in place: in mapped memory, or in a file of the disk tier. Integers are little-endian.
 *
 * <p><b>Threading:</b> immutable; accesses are plain.
 *
 * <p><b>Ownership:</b> owns nothing. The provider of a slice documents what keeps its bytes in place.
 */
public interface StoredSlice {
    /** Returns the number of bytes. */
    long lengthBytes();

    /**
     * Returns the part {@code [offset, offset + length)} of this slice.
     *
     * @throws IndexOutOfBoundsException if it is not inside
     */
    StoredSlice slice(long offset, long length);

    /**
     * Returns the same bytes in memory: this slice, or a copy of bytes on disk.
     *
     * @throws IOException if a file cannot be read, or has been truncated
     */
    StoredSlice inMemory() throws IOException;

    /**
     * Copies {@code length} bytes at {@code offset} into {@code target[targetOffset..]}.
     *
     * @throws IOException if a file cannot be read, or has been truncated
     */
    void getBytes(long offset, byte[] target, int targetOffset, int length) throws IOException;

    /**
     * Copies this whole slice to memory.
     *
     * @param address of as many bytes of mapped memory; they are not checked
     * @throws IOException if a file cannot be read, or has been truncated
     */
    void copyToAddress(long address) throws IOException;

    /**
     * Writes slices to a stream, one after another, through a buffer.
     *
     * @throws IOException if a file cannot be read, or has been truncated, or the stream fails
     */
    static void writeAll(List<? extends StoredSlice> slices, OutputStream out, byte[] buffer) throws IOException {
        for (StoredSlice slice : slices) {
            for (long done = 0; done < slice.lengthBytes(); ) {
                int piece = (int) Math.min(buffer.length, slice.lengthBytes() - done);
                slice.getBytes(done, buffer, 0, piece);
                out.write(buffer, 0, piece);
                done += piece;
            }
        }
    }

    /** Returns the 4 bytes at an offset. */
    int getInt(long offset) throws IOException;

    /** Returns the 8 bytes at an offset. */
    long getLong(long offset) throws IOException;
}
