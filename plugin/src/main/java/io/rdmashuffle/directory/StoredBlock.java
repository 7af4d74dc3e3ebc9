package io.rdmashuffle.directory;

import io.rdmashuffle.memory.MemorySlice;
import java.util.List;

/**
 * One partition of one map output, where it lies in memory that this process sees.
 *
 * <p><b>Threading:</b> immutable. <b>Ownership:</b> owns nothing; whoever found it keeps the memory mapped.
 *
 * @param pieces in order
 * @param lengthBytes of all pieces
 * @param checksum CRC-32C of its bytes as they were written
 */
public record StoredBlock(List<MemorySlice> pieces, long lengthBytes, int checksum) {
    static final StoredBlock EMPTY = new StoredBlock(List.of(), 0, 0);

    /** Copies all bytes to {@code target[offset..]}, where there must be room. */
    public void copyTo(byte[] target, int offset) {
        int position = offset;
        for (int i = 0; i < pieces.size(); i++) {
            MemorySlice piece = pieces.get(i);
            piece.getBytes(0, target, position, Math.toIntExact(piece.lengthBytes()));
            position += (int) piece.lengthBytes();
        }
    }

    /** Returns whether the bytes, where they lie, are those that were written. */
    public boolean isIntact() {
        return Crc32c.of(pieces) == checksum;
    }
}
