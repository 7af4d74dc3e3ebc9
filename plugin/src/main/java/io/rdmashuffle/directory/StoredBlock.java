// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.util.List;

/**
 * One partition of one map output.
 *
 * @param pieces in order
 * @param lengthBytes of all pieces
 * @param checksum CRC-32C of its bytes as they were written
 */
public record StoredBlock(List<StoredSlice> pieces, long lengthBytes, int checksum) {
    static final StoredBlock EMPTY = new StoredBlock(List.of(), 0, 0);

    /** Copies all bytes to {@code target[offset..]}, where there must be room. */
    public void copyTo(byte[] target, int offset) throws IOException {
        int position = offset;
        for (int i = 0; i < pieces.size(); i++) {
            StoredSlice piece = pieces.get(i);
            piece.getBytes(0, target, position, Math.toIntExact(piece.lengthBytes()));
            position += (int) piece.lengthBytes();
        }
    }

    /** Returns the number of its bytes in the disk tier. */
    public long bytesOnDisk() {
        long bytes = 0;
        for (int i = 0; i < pieces.size(); i++) {
            StoredSlice piece = pieces.get(i);
            bytes += piece instanceof FileSlice ? piece.lengthBytes() : 0;
        }
        return bytes;
    }

    /**
     * Returns whether the bytes, read where they lie, have the checksum of the written ones.
     *
     * @throws IOException if they lie on disk and cannot be read
     */
    public boolean isIntact() throws IOException {
        return Crc32c.of(pieces) == checksum;
    }
}
