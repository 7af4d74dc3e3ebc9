// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.zip.CRC32C;
import java.util.zip.CheckedOutputStream;
import java.util.zip.Checksum;

/**
 * CRC-32C (Castagnoli) of stored bytes, which processors compute in hardware.
 *
 * <p><b>Source:</b> RFC 3720, appendix B.4; {@link CRC32C}.
 */
public final class Crc32c {
    /** Of a file: what a core's own cache holds. */
    private static final int READ_BYTES = 64 << 10;

    private Crc32c() {}

    /** Returns the checksum of a slice of any length. */
    public static int of(MemorySlice slice) {
        CRC32C crc = new CRC32C();
        update(crc, slice);
        return (int) crc.getValue();
    }

    /**
     * Returns the checksum of slices as if they followed one another.
     *
     * @throws IOException if one lies on disk and cannot be read
     */
    public static int of(List<? extends StoredSlice> slices) throws IOException {
        CRC32C crc = new CRC32C();
        for (StoredSlice slice : slices) {
            if (slice instanceof MemorySlice memory) {
                update(crc, memory);
            } else {
                byte[] piece = new byte[(int) Math.min(READ_BYTES, slice.lengthBytes())];
                StoredSlice.writeAll(
                        List.of(slice), new CheckedOutputStream(OutputStream.nullOutputStream(), crc), piece);
            }
        }
        return (int) crc.getValue();
    }

    /** Adds a slice of any length to a checksum, in pieces between which the JVM can reach a safepoint. */
    static void update(Checksum crc, MemorySlice slice) {
        if (slice.lengthBytes() > RawMemory.MAX_PIECE_BYTES) {
            RawMemory.inPieces(
                    slice.lengthBytes(),
                    (offset, length) -> crc.update(slice.slice(offset, length).asByteBuffer()));
        } else if (slice.lengthBytes() > 0) {
            crc.update(slice.asByteBuffer());
        }
    }

    /** Adds bytes of an array to a checksum, in pieces between which the JVM can reach a safepoint. */
    public static void update(Checksum crc, byte[] bytes, int offset, int length) {
        if (length <= RawMemory.MAX_PIECE_BYTES) {
            crc.update(bytes, offset, length);
        } else {
            RawMemory.inPieces(length, (done, piece) -> crc.update(bytes, offset + (int) done, (int) piece));
        }
    }
}
