// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.ByteBuffer;

/**
 * Directory entry of one map output.
 *
 * @param mapId Spark's unique task attempt id, not the map's index
 * @param place where the data is
 * @param partitions number of reduce partitions in the index
 * @param extents in how many pieces the data lies; 0 if all partitions are empty or the output is a file
 * @param indexRegion region of the index
 * @param indexOffset offset of the index in its region
 * @param dataRegion region of the data if that lies in one piece, else 0
 * @param dataOffset offset of the data in its region if it lies in one piece, else 0
 * @param dataBytes bytes of all partitions together
 */
public record DirectoryEntry(
        long mapId,
        Place place,
        int partitions,
        int extents,
        int indexRegion,
        long indexOffset,
        int dataRegion,
        long dataOffset,
        long dataBytes) {
    /** Tier of a map output's data. */
    public enum Place {
        /** Nowhere any more. */
        WITHDRAWN(0),
        /** In registered memory, described by an index. */
        POOL(1),
        /** In Spark's ordinary shuffle files on the owner's disk. */
        FILE(2),
        /** In the pool too, but not all of data and index in memory: some lies in the disk tier. */
        DISK(3);

        private final int code;

        Place(int code) {
            this.code = code;
        }

        private static Place of(int code) throws DirectoryFormatException {
            for (Place place : values()) {
                if (place.code == code) {
                    return place;
                }
            }
            throw new DirectoryFormatException("directory entry with unknown place " + code);
        }
    }

    /**
     * Returns whether data and index can be read by slices.
     *
     * @param diskToo whether slices of the disk tier can be
     */
    public boolean isReadable(boolean diskToo) {
        return place == Place.POOL || (diskToo && place == Place.DISK);
    }

    /** Describes an output that went to ordinary files. */
    public static DirectoryEntry file(long mapId, int partitions, long dataBytes) {
        return new DirectoryEntry(mapId, Place.FILE, partitions, 0, 0, 0, 0, 0, dataBytes);
    }

    /** Describes an output in the pool without a byte. */
    static DirectoryEntry empty(long mapId, int partitions) {
        return new DirectoryEntry(mapId, Place.POOL, partitions, 0, 0, 0, 0, 0, 0);
    }

    /** Throws unless this output has partitions {@code [start, end)}, at least one. */
    void checkPartitions(int start, int end) throws DirectoryFormatException {
        if (start < 0 || start >= end || end > partitions) {
            throw new DirectoryFormatException("no partitions [" + start + ", " + end + ") in " + this);
        }
    }

    void write(MemorySlice record) {
        record.clear();
        record.putLong(DirectoryLayout.ENTRY_MAP_ID, mapId);
        record.putInt(DirectoryLayout.ENTRY_PLACE, place.code);
        record.putInt(DirectoryLayout.ENTRY_PARTITIONS, partitions);
        record.putInt(DirectoryLayout.ENTRY_EXTENTS, extents);
        record.putInt(DirectoryLayout.ENTRY_REGION, indexRegion);
        record.putLong(DirectoryLayout.ENTRY_OFFSET, indexOffset);
        record.putInt(DirectoryLayout.ENTRY_DATA_REGION, dataRegion);
        record.putLong(DirectoryLayout.ENTRY_DATA_OFFSET, dataOffset);
        record.putLong(DirectoryLayout.ENTRY_DATA_BYTES, dataBytes);
        DirectoryLayout.seal(record);
    }

    /**
     * Reads a record that {@link DirectoryLayout#snapshot} has copied.
     *
     * @throws DirectoryFormatException if the numbers cannot be
     */
    static DirectoryEntry read(ByteBuffer record) throws DirectoryFormatException {
        DirectoryEntry entry = new DirectoryEntry(
                record.getLong(DirectoryLayout.ENTRY_MAP_ID),
                Place.of(record.getInt(DirectoryLayout.ENTRY_PLACE)),
                record.getInt(DirectoryLayout.ENTRY_PARTITIONS),
                record.getInt(DirectoryLayout.ENTRY_EXTENTS),
                record.getInt(DirectoryLayout.ENTRY_REGION),
                record.getLong(DirectoryLayout.ENTRY_OFFSET),
                record.getInt(DirectoryLayout.ENTRY_DATA_REGION),
                record.getLong(DirectoryLayout.ENTRY_DATA_OFFSET),
                record.getLong(DirectoryLayout.ENTRY_DATA_BYTES));
        if (entry.partitions < 0
                || entry.extents < 0
                || entry.indexRegion < 0
                || entry.indexOffset < 0
                || entry.dataRegion < 0
                || entry.dataOffset < 0
                || entry.dataBytes < 0) {
            throw new DirectoryFormatException("directory entry with invalid numbers: " + entry);
        }
        return entry;
    }
}
