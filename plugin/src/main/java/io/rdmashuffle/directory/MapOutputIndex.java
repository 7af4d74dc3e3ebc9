package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.MemorySlice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Where each partition of one map output lies, and its checksum.
 *
 * <p>The data is a logical sequence of bytes, partition after partition; extents say which pieces of the pool that sequence
 * is made of.
 *
 * <pre>
 *  offset             bytes        little-endian; E extents, P partitions
 *       0             24 * E       extent: logical start (8), offset in its region (8), region (4), zero (4)
 *       24 E           8 * (P+1)   logical offset where partition p starts; the last one is the length
 *       24 E + 8(P+1)  4 * P       CRC-32C of partition p's bytes
 * </pre>
 *
 * An extent ends where the next one starts. P and E are in the {@link DirectoryEntry}. A damaged index leads to bytes whose
 * checksum is wrong, so it carries none of its own.
 */
public final class MapOutputIndex {
    private static final long EXTENT_BYTES = 24;

    private MapOutputIndex() {}

    /** A piece of the pool that holds part of a map output. */
    public record Extent(int regionId, long offset, long lengthBytes) {}

    /** Returns the bytes of an index. */
    public static long lengthBytes(int partitions, int extents) {
        return extents * EXTENT_BYTES + Long.BYTES * (partitions + 1L) + (long) Integer.BYTES * partitions;
    }

    /** Writes an index; {@code lengths} and {@code checksums} are by partition, {@code extents} in logical order. */
    public static void write(MemorySlice memory, List<Extent> extents, long[] lengths, int[] checksums) {
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
        long[] offsets = new long[lengths.length + 1];
        for (int p = 0; p < lengths.length; p++) {
            offsets[p + 1] = offsets[p] + lengths[p];
        }
        // In bulk: one store after the other takes as long as the page faults of a fresh index.
        long offsetBytes = (long) Long.BYTES * offsets.length;
        memory.slice(position, offsetBytes).asByteBuffer().asLongBuffer().put(offsets);
        memory.slice(position + offsetBytes, (long) Integer.BYTES * checksums.length)
                .asByteBuffer()
                .asIntBuffer()
                .put(checksums);
    }

    /** Returns which parts of an index are needed for partitions {@code [start, end)}: extents, offsets, checksums. */
    public static List<RemoteSlice> slicesFor(DirectoryEntry entry, int start, int end)
            throws DirectoryFormatException {
        entry.checkPartitions(start, end);
        if (entry.extents() == 0) {
            throw new DirectoryFormatException("no index: all partitions are empty in " + entry);
        }
        long base = entry.indexOffset();
        long extentBytes = entry.extents() * EXTENT_BYTES;
        long checksums = base + extentBytes + Long.BYTES * (entry.partitions() + 1L);
        return List.of(
                new RemoteSlice(entry.indexRegion(), base, extentBytes),
                new RemoteSlice(
                        entry.indexRegion(),
                        base + extentBytes + (long) Long.BYTES * start,
                        (long) Long.BYTES * (end - start + 1)),
                new RemoteSlice(
                        entry.indexRegion(),
                        checksums + (long) Integer.BYTES * start,
                        (long) Integer.BYTES * (end - start)));
    }

    /**
     * Decodes what {@link #slicesFor} named.
     *
     * @throws DirectoryFormatException if the numbers cannot be, for example because the owner has reused the memory
     */
    public static BlockRange read(DirectoryEntry entry, MemorySlice extents, MemorySlice offsets, MemorySlice checksums)
            throws DirectoryFormatException {
        int partitions = (int) (checksums.lengthBytes() / Integer.BYTES);
        long[] lengths = new long[partitions];
        int[] crcs = new int[partitions];
        long first = offsets.getLong(0);
        long previous = first;
        if (first < 0) {
            throw new DirectoryFormatException("index of map " + entry.mapId() + " begins before its data");
        }
        for (int p = 0; p < partitions; p++) {
            long next = offsets.getLong((p + 1L) * Long.BYTES);
            // Compared before they are subtracted: a difference may overflow to something that looks right.
            if (next < previous) {
                throw new DirectoryFormatException("partition of negative length in the index of map " + entry.mapId());
            }
            lengths[p] = next - previous;
            crcs[p] = checksums.getInt((long) p * Integer.BYTES);
            previous = next;
        }
        if (previous > entry.dataBytes()) {
            throw new DirectoryFormatException("index of map " + entry.mapId() + " points outside its data");
        }
        return new BlockRange(pieces(entry, extents, first, previous), lengths, crcs);
    }

    /**
     * Finds one partition in memory that this process sees.
     *
     * @throws DirectoryFormatException if the numbers cannot be, for example because the owner has reused the memory
     * @throws IOException if a region cannot be seen
     */
    public static StoredBlock block(DirectoryEntry entry, RegionMemory regions, int partition) throws IOException {
        entry.checkPartitions(partition, partition + 1);
        if (entry.extents() == 0) {
            return StoredBlock.EMPTY;
        }
        long extentBytes = entry.extents() * EXTENT_BYTES;
        long offsets = extentBytes + (long) Long.BYTES * partition;
        long checksums = extentBytes + Long.BYTES * (entry.partitions() + 1L);
        MemorySlice index = part(
                entry,
                regions,
                entry.indexRegion(),
                entry.indexOffset(),
                lengthBytes(entry.partitions(), entry.extents()));
        long from = index.getLong(offsets);
        long to = index.getLong(offsets + Long.BYTES);
        if (from < 0 || to < from || to > entry.dataBytes()) {
            throw new DirectoryFormatException("index of map " + entry.mapId() + " points outside its data");
        }
        List<RemoteSlice> slices = pieces(entry, index.slice(0, extentBytes), from, to);
        MemorySlice[] pieces = new MemorySlice[slices.size()];
        for (int i = 0; i < pieces.length; i++) {
            RemoteSlice slice = slices.get(i);
            pieces[i] = part(entry, regions, slice.regionId(), slice.offset(), slice.lengthBytes());
        }
        int checksum = index.getInt(checksums + (long) Integer.BYTES * partition);
        return new StoredBlock(List.of(pieces), to - from, checksum);
    }

    private static MemorySlice part(DirectoryEntry entry, RegionMemory regions, int region, long offset, long length)
            throws IOException {
        MemorySlice memory = regions.of(region);
        if (memory == null || offset < 0 || length > memory.lengthBytes() - offset) {
            throw new DirectoryFormatException(
                    "map " + entry.mapId() + " leads to " + length + " bytes at " + offset + " of region " + region
                            + (memory == null ? ", which is not there" : " of " + memory.lengthBytes()));
        }
        return memory.slice(offset, length);
    }

    private static List<RemoteSlice> pieces(DirectoryEntry entry, MemorySlice extents, long from, long to)
            throws DirectoryFormatException {
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
                boolean sound = offset >= 0 && region >= 0 && start >= 0 && cutEnd - cutStart <= missing;
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
}
