// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.MemorySlice;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * CRC-32C (Castagnoli) of mapped memory, which processors compute in hardware.
 *
 * <p><b>Source:</b> RFC 3720, appendix B.4; {@link CRC32C}.
 */
public final class Crc32c {
    private static final long PIECE_BYTES = 1L << 30;

    private Crc32c() {}

    /** Returns the checksum of a slice of any length. */
    public static int of(MemorySlice slice) {
        return of(List.of(slice));
    }

    /** Returns the checksum of slices as if they followed one another. */
    public static int of(List<MemorySlice> slices) {
        CRC32C crc = new CRC32C();
        for (MemorySlice slice : slices) {
            for (long done = 0; done < slice.lengthBytes(); done += PIECE_BYTES) {
                crc.update(slice.slice(done, Math.min(PIECE_BYTES, slice.lengthBytes() - done))
                        .asByteBuffer());
            }
        }
        return (int) crc.getValue();
    }
}
