// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.UUID;

/**
 * Location of a table of an executor's directory: the first one as the registry announces it.
 *
 * <pre>
 *  offset  bytes  little-endian
 *       0      4  layout version, that of {@link DirectoryLayout}
 *       4      4  region
 *       8      8  offset in the region
 *      16      4  slots
 * </pre>
 *
 * @param table header and slots
 * @param slots how many shuffles it has room for
 */
public record DirectoryLocation(RemoteSlice table, int slots) {
    private static final int ENCODED_BYTES = 20;

    /** Encodes for the registry. */
    public byte[] encode() {
        return ByteBuffer.allocate(ENCODED_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(DirectoryLayout.VERSION)
                .putInt(table.regionId())
                .putLong(table.offset())
                .putInt(slots)
                .array();
    }

    /**
     * Decodes what {@link #encode} made.
     *
     * @throws DirectoryFormatException if it is of another version or damaged
     */
    public static DirectoryLocation decode(byte[] encoded) throws DirectoryFormatException {
        ByteBuffer in = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
        if (encoded.length != ENCODED_BYTES || in.getInt() != DirectoryLayout.VERSION) {
            throw new DirectoryFormatException(
                    "the peer's directory is of another version; run one version everywhere");
        }
        int region = in.getInt();
        long offset = in.getLong();
        return of(region, offset, in.getInt());
    }

    /**
     * Makes a location of numbers that a peer wrote.
     *
     * @throws DirectoryFormatException if there can be no table there
     */
    static DirectoryLocation of(int region, long offset, int slots) throws DirectoryFormatException {
        boolean sound =
                region >= 0 && slots > 0 && offset >= 0 && offset <= Long.MAX_VALUE - DirectoryLayout.tableBytes(slots);
        if (!sound) {
            throw new DirectoryFormatException(
                    "damaged directory location: region " + region + ", offset " + offset + ", " + slots + " slots");
        }
        return new DirectoryLocation(new RemoteSlice(region, offset, DirectoryLayout.tableBytes(slots)), slots);
    }

    static byte[] incarnationBytes(UUID incarnation) {
        return ByteBuffer.allocate(16)
                .putLong(incarnation.getMostSignificantBits())
                .putLong(incarnation.getLeastSignificantBits())
                .array();
    }
}
