// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Index of one map output: offset and checksum of each partition.
 *
 * <p>The data is a logical byte sequence, partition after partition, over extents of the pool. For a single extent, the
 * usual case, the {@link DirectoryEntry} has the location.
 *
 * <pre>
 *  bytes     little-endian; E extents, P partitions
 *  24 * E    extents, if E is not 1: logical start (8), offset in its region (8), region (4), zero (4)
 *  12 * P    row of partition p: logical offset where it starts (8), CRC-32C of its bytes xor its mark (4)
 *   8        length
 * </pre>
 *
 * A reader needs 20 consecutive bytes per partition: a reduce task reads them of every map output, with one READ or one
 * cache line each. An extent ends where the next one starts. P and E are in the entry. The index has no checksum,
 * because a damaged index leads to bytes with a wrong checksum; the mark, a function of map id and partition, does the
 * same for a valid row of another map output.
 */
public final class MapOutputIndex {
    private static final long EXTENT_BYTES = 24;
    private static final long ROW_BYTES = Long.BYTES + Integer.BYTES;
    /** After the rows that are wanted: where the last of them ends. */
    private static final long END_BYTES = Long.BYTES;

    /** Odd, with no pattern in their bits. */
    private static final long MAP_FACTOR = 0x9E3779B97F4A7C15L;

    private static final long PARTITION_FACTOR = 0xC2B2AE3D27D4EB4FL;

    /** The regions of one pool, for a reader that follows its indexes. */
    @FunctionalInterface
    public interface Regions {
        /**
         * Returns the whole of a region, in memory or on disk; null if the pool has none of that number.
         *
         * @throws IOException if it cannot be mapped or opened
         */
        @Nullable
        StoredSlice of(int regionId) throws IOException;
    }

    private MapOutputIndex() {}

    /** A piece of the pool that holds part of a map output. */
    public record Extent(int regionId, long offset, long lengthBytes) {}

    /** Returns the bytes of an index. */
    public static long lengthBytes(int partitions, int extents) {
        return extentBytes(extents) + ROW_BYTES * partitions + END_BYTES;
    }

    private static long extentBytes(int extents) {
        return extents == 1 ? 0 : extents * EXTENT_BYTES;
    }

    /** Returns the mark that distinguishes a partition's checksum from others. */
    private static int mark(long mapId, int partition) {
        return (int) ((mapId * MAP_FACTOR + partition * PARTITION_FACTOR) >>> Integer.SIZE);
    }

    /** Writes an index; {@code lengths} and {@code checksums} are by partition, {@code extents} in logical order. */
    public static void write(MemorySlice memory, long mapId, List<Extent> extents, long[] lengths, int[] checksums) {
        if (extents.size() != 1) {
            writeExtents(memory, extents);
        }
        long rowsBytes = ROW_BYTES * lengths.length + END_BYTES;
        writeRows(memory.slice(extentBytes(extents.size()), rowsBytes), mapId, lengths, checksums);
    }

    /** Stores without a check of each: the slice is as long as it must be, and checks cost as much as the stores do. */
    private static void writeRows(MemorySlice rows, long mapId, long[] lengths, int[] checksums) {
        long address = rows.address();
        long offset = 0;
        for (int p = 0; p < lengths.length; p++) {
            RawMemory.putLong(address, offset);
            RawMemory.putInt(address + Long.BYTES, checksums[p] ^ mark(mapId, p));
            offset += lengths[p];
            address += ROW_BYTES;
        }
        RawMemory.putLong(address, offset);
    }

    private static void writeExtents(MemorySlice memory, List<Extent> extents) {
        long position = 0;
        long logical = 0;
        for (Extent extent : extents) {
            memory.putLong(position, logical);
            memory.putLong(position + 8, extent.offset());
            memory.putInt(position + 16, extent.regionId());
            memory.putInt(position + 20, 0);
            logical += extent.lengthBytes();
            position += EXTENT_BYTES;
        }
    }

    /**
     * Returns the parts of an index for partitions {@code [start, end)}: rows, and extents if it has any.
     */
    public static List<RemoteSlice> slicesFor(DirectoryEntry entry, int start, int end)
            throws DirectoryFormatException {
        RemoteSlice rows = new RemoteSlice(entry.indexRegion(), rowsOffset(entry, start, end), rowsBytes(start, end));
        return entry.extents() == 1
                ? List.of(rows)
                : List.of(
                        rows, new RemoteSlice(entry.indexRegion(), entry.indexOffset(), extentBytes(entry.extents())));
    }

    private static long rowsOffset(DirectoryEntry entry, int start, int end) throws DirectoryFormatException {
        entry.checkPartitions(start, end);
        if (entry.extents() == 0) {
            throw new DirectoryFormatException("no index: all partitions are empty in " + entry);
        }
        return entry.indexOffset() + extentBytes(entry.extents()) + ROW_BYTES * start;
    }

    private static long rowsBytes(int start, int end) {
        return ROW_BYTES * (end - start) + END_BYTES;
    }

    /**
     * Decodes what {@link #slicesFor} named.
     *
     * @param start the first partition
     * @param parts the bytes of those slices
     * @throws DirectoryFormatException if the numbers cannot be, for example because the owner has reused the memory
     * @throws IOException if they lie on disk and cannot be read
     */
    public static BlockRange read(DirectoryEntry entry, int start, List<StoredSlice> parts) throws IOException {
        StoredSlice extents = entry.extents() == 1 ? null : parts.get(1).inMemory();
        return read(entry, start, parts.get(0).inMemory(), extents);
    }

    /** Decodes partitions {@code [start, end)} in the region that holds the index. */
    static BlockRange read(DirectoryEntry entry, StoredSlice region, int start, int end) throws IOException {
        long offset = rowsOffset(entry, start, end);
        StoredSlice rows = region.slice(offset, rowsBytes(start, end)).inMemory();
        return read(entry, start, rows, extents(entry, region));
    }

    private static @Nullable StoredSlice extents(DirectoryEntry entry, StoredSlice region) throws IOException {
        return entry.extents() == 1
                ? null
                : region.slice(entry.indexOffset(), extentBytes(entry.extents()))
                        .inMemory();
    }

    private static BlockRange read(DirectoryEntry entry, int start, StoredSlice rows, @Nullable StoredSlice extents)
            throws IOException {
        int partitions = (int) (rows.lengthBytes() / ROW_BYTES);
        long[] lengths = new long[partitions];
        int[] crcs = new int[partitions];
        long first = rows.getLong(0);
        long previous = first;
        if (first < 0) {
            throw new DirectoryFormatException("index of map " + entry.mapId() + " begins before its data");
        }
        for (int p = 0; p < partitions; p++) {
            long row = p * ROW_BYTES;
            long next = rows.getLong(row + ROW_BYTES);
            // Compared before they are subtracted: a difference may overflow to something that looks right.
            if (next < previous) {
                throw new DirectoryFormatException("partition of negative length in the index of map " + entry.mapId());
            }
            lengths[p] = next - previous;
            crcs[p] = rows.getInt(row + Long.BYTES) ^ mark(entry.mapId(), start + p);
            previous = next;
        }
        if (previous > entry.dataBytes()) {
            throw new DirectoryFormatException("index of map " + entry.mapId() + " points outside its data");
        }
        return new BlockRange(pieces(entry, extents, first, previous), lengths, crcs);
    }

    /**
     * Finds one partition in regions that are mapped into this process or open in it.
     *
     * @throws DirectoryFormatException if the numbers cannot be, for example because the owner has reused the memory
     * @throws IOException if a region cannot be mapped, opened or read
     */
    public static StoredBlock block(DirectoryEntry entry, Regions regions, int partition) throws IOException {
        entry.checkPartitions(partition, partition + 1);
        if (entry.extents() == 0) {
            return StoredBlock.EMPTY;
        }
        StoredSlice index = index(entry, regions);
        long rowAt = extentBytes(entry.extents()) + ROW_BYTES * partition;
        StoredSlice row = index.slice(rowAt, ROW_BYTES + END_BYTES).inMemory();
        long from = row.getLong(0);
        long to = row.getLong(ROW_BYTES);
        int checksum = row.getInt(Long.BYTES) ^ mark(entry.mapId(), partition);
        if (from < 0 || to < from || to > entry.dataBytes()) {
            throw new DirectoryFormatException("index of map " + entry.mapId() + " points outside its data");
        }
        if (entry.extents() == 1 && from < to) {
            long offset = entry.dataOffset() + from;
            return new StoredBlock(
                    List.of(part(entry, regions, entry.dataRegion(), offset, to - from)), to - from, checksum);
        }
        StoredSlice extents = index.slice(0, extentBytes(entry.extents())).inMemory();
        List<RemoteSlice> slices = pieces(entry, extents, from, to);
        StoredSlice[] pieces = new StoredSlice[slices.size()];
        for (int i = 0; i < pieces.length; i++) {
            RemoteSlice slice = slices.get(i);
            pieces[i] = part(entry, regions, slice.regionId(), slice.offset(), slice.lengthBytes());
        }
        return new StoredBlock(List.of(pieces), to - from, checksum);
    }

    /**
     * Returns partitions {@code [start, end)} where they lie.
     *
     * @throws DirectoryFormatException if there are no such partitions, or the index leads outside the regions
     */
    public static StoredRange range(DirectoryEntry entry, Regions regions, int start, int end) throws IOException {
        entry.checkPartitions(start, end);
        if (entry.extents() == 0) {
            return new StoredRange(BlockRange.empty(end - start), List.of());
        }
        StoredSlice index = index(entry, regions);
        StoredSlice rows = index.slice(extentBytes(entry.extents()) + ROW_BYTES * start, rowsBytes(start, end));
        StoredSlice extents = entry.extents() == 1
                ? null
                : index.slice(0, extentBytes(entry.extents())).inMemory();
        BlockRange range = read(entry, start, rows.inMemory(), extents);
        List<StoredSlice> pieces = new ArrayList<>(range.slices().size());
        for (RemoteSlice slice : range.slices()) {
            pieces.add(part(entry, regions, slice.regionId(), slice.offset(), slice.lengthBytes()));
        }
        return new StoredRange(range, pieces);
    }

    private static StoredSlice index(DirectoryEntry entry, Regions regions) throws IOException {
        long lengthBytes = lengthBytes(entry.partitions(), entry.extents());
        return part(entry, regions, entry.indexRegion(), entry.indexOffset(), lengthBytes);
    }

    private static StoredSlice part(DirectoryEntry entry, Regions regions, int region, long offset, long length)
            throws IOException {
        StoredSlice memory = regions.of(region);
        if (memory == null || offset < 0 || length > memory.lengthBytes() - offset) {
            throw new DirectoryFormatException(
                    "map " + entry.mapId() + " leads to " + length + " bytes at " + offset + " of region " + region
                            + (memory == null ? ", which does not exist" : " of " + memory.lengthBytes()));
        }
        return memory.slice(offset, length);
    }

    /**
     * Returns the pieces of bytes {@code [from, to)} of the data; {@code extents} is null for a single extent.
     */
    private static List<RemoteSlice> pieces(DirectoryEntry entry, @Nullable StoredSlice extents, long from, long to)
            throws IOException {
        if (from == to) {
            return List.of();
        }
        if (extents == null) {
            long offset = entry.dataOffset() + from;
            if (!isOffset(offset, to - from)) {
                throw new DirectoryFormatException("data of map " + entry.mapId() + " is outside of all regions");
            }
            return List.of(new RemoteSlice(entry.dataRegion(), offset, to - from));
        }
        List<RemoteSlice> pieces = new ArrayList<>(1);
        long missing = to - from;
        for (int e = 0; e < entry.extents(); e++) {
            long start = extents.getLong(e * EXTENT_BYTES);
            long end = e + 1 < entry.extents() ? extents.getLong((e + 1) * EXTENT_BYTES) : entry.dataBytes();
            long cutStart = Math.max(start, from);
            long cutEnd = Math.min(end, to);
            if (cutStart < cutEnd) {
                long offset = extents.getLong(e * EXTENT_BYTES + 8) + (cutStart - start);
                int region = extents.getInt(e * EXTENT_BYTES + 16);
                boolean sound = isOffset(offset, cutEnd - cutStart)
                        && region >= 0
                        && start >= 0
                        && cutEnd - cutStart <= missing;
                if (!sound) {
                    throw new DirectoryFormatException("damaged extent in the index of map " + entry.mapId());
                }
                pieces.add(new RemoteSlice(region, offset, cutEnd - cutStart));
                missing -= cutEnd - cutStart;
            }
        }
        if (missing != 0) {
            throw new DirectoryFormatException("extents of map " + entry.mapId() + " do not cover its data");
        }
        return pieces;
    }

    /** Returns whether a range is possible at an offset, even if the sum overflows. */
    private static boolean isOffset(long offset, long lengthBytes) {
        return offset >= 0 && offset <= Long.MAX_VALUE - lengthBytes;
    }
}
