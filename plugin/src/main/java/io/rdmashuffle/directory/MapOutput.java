// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.ReferenceCounted;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One map output in this executor's pool: its data, its index, and those who read it now.
 *
 * <p><b>Threading:</b> immutable but for the reference count, which is thread-safe.
 *
 * <p><b>Ownership:</b> owns its leases, which go back when the owner has closed it and the last local reader has
 * released it.
 */
public final class MapOutput extends ReferenceCounted {
    private final DirectoryEntry entry;
    private final List<Lease> data;
    private final @Nullable Lease index;

    private MapOutput(DirectoryEntry entry, List<Lease> data, @Nullable Lease index) {
        this.entry = entry;
        this.data = List.copyOf(data);
        this.index = index;
    }

    /** Writes the index of data that is complete, and waits while the pool grows to hold it. */
    public static @Nullable MapOutput create(
            TieredPool pool, long mapId, List<Lease> data, long[] usedBytes, long[] lengths, int[] checksums)
            throws InterruptedException {
        return create(pool, WaitPolicy.GROWTH, mapId, data, usedBytes, lengths, checksums);
    }

    /**
     * Writes the index of data that is complete.
     *
     * @param waitPolicy with the pool, when that has no room for the index
     * @param data in logical order; owned by the result if there is one, else still by the caller
     * @param usedBytes how many bytes of each lease are data
     * @param lengths bytes by partition
     * @param checksums CRC-32C by partition
     * @return null when neither memory nor disk has room for the index
     */
    public static @Nullable MapOutput create(
            TieredPool pool,
            WaitPolicy waitPolicy,
            long mapId,
            List<Lease> data,
            long[] usedBytes,
            long[] lengths,
            int[] checksums)
            throws InterruptedException {
        if (data.isEmpty()) {
            return new MapOutput(DirectoryEntry.empty(mapId, lengths.length), data, null);
        }
        long indexBytes = MapOutputIndex.lengthBytes(lengths.length, data.size());
        Lease index = pool.reserve(Purpose.INDEX, indexBytes, indexBytes, waitPolicy);
        return index == null ? null : withIndex(pool, index, mapId, data, usedBytes, lengths, checksums);
    }

    /**
     * Writes the index of data that is complete in one lease of the disk tier, next to it.
     *
     * @param data owned by the result if there is one, else still by the caller
     * @return null when the disk has no room for the index
     */
    public static @Nullable MapOutput createOnDisk(
            TieredPool pool, long mapId, Lease data, long usedBytes, long[] lengths, int[] checksums) {
        Lease index = pool.reserveOnDisk(Purpose.INDEX, MapOutputIndex.lengthBytes(lengths.length, 1));
        return index == null
                ? null
                : withIndex(pool, index, mapId, List.of(data), new long[] {usedBytes}, lengths, checksums);
    }

    private static @Nullable MapOutput withIndex(
            TieredPool pool,
            Lease index,
            long mapId,
            List<Lease> data,
            long[] usedBytes,
            long[] lengths,
            int[] checksums) {
        List<MapOutputIndex.Extent> extents = new ArrayList<>(data.size());
        long total = 0;
        for (int i = 0; i < data.size(); i++) {
            Lease lease = data.get(i);
            extents.add(new MapOutputIndex.Extent(lease.region().id(), lease.offset(), usedBytes[i]));
            total += usedBytes[i];
        }
        long indexBytes = MapOutputIndex.lengthBytes(lengths.length, extents.size());
        boolean onDisk = Region.isOnDisk(index.region().id());
        if (!onDisk) {
            MapOutputIndex.write(index.memory(), mapId, extents, lengths, checksums);
        } else if (!writeToDisk(pool, index, indexBytes, mapId, extents, lengths, checksums)) {
            index.close();
            return null;
        }
        boolean inOnePiece = extents.size() == 1;
        boolean inMemory = !onDisk && extents.stream().noneMatch(extent -> Region.isOnDisk(extent.regionId()));
        DirectoryEntry entry = new DirectoryEntry(
                mapId,
                inMemory ? DirectoryEntry.Place.POOL : DirectoryEntry.Place.DISK,
                lengths.length,
                extents.size(),
                index.region().id(),
                index.offset(),
                inOnePiece ? extents.get(0).regionId() : 0,
                inOnePiece ? extents.get(0).offset() : 0,
                total);
        return new MapOutput(entry, data, index);
    }

    private static boolean writeToDisk(
            TieredPool pool,
            Lease index,
            long indexBytes,
            long mapId,
            List<MapOutputIndex.Extent> extents,
            long[] lengths,
            int[] checksums) {
        try (NativeBuffer buffer = new NativeBuffer(indexBytes)) {
            MemorySlice memory = new MemorySlice(buffer.address(), indexBytes);
            MapOutputIndex.write(memory, mapId, extents, lengths, checksums);
            return pool.write(index, 0, memory);
        }
    }

    /** Returns the directory entry of this output. */
    public DirectoryEntry entry() {
        return entry;
    }

    /** Returns the file in which the data lies in one piece, {@link DirectoryEntry#dataOffset}; null if in several. */
    public @Nullable Path file() {
        return data.size() == 1 ? data.get(0).region().file() : null;
    }

    /** Returns the number of data bytes in the memory tier, without the index. */
    public long memoryBytes() {
        return data.stream()
                .filter(lease -> !Region.isOnDisk(lease.region().id()))
                .mapToLong(Lease::lengthBytes)
                .sum();
    }

    /**
     * Returns the location of partitions {@code [start, end)}; the caller holds a reference.
     *
     * @throws IOException if there are no such partitions, or an index on disk cannot be read
     */
    public BlockRange range(int start, int end) throws IOException {
        Lease held = index;
        entry.checkPartitions(start, end);
        if (held == null) {
            return BlockRange.empty(end - start);
        }
        return MapOutputIndex.read(entry, held.region().bytes(), start, end);
    }

    /**
     * Returns one partition where it lies; valid while the caller holds a reference.
     *
     * @throws DirectoryFormatException if there is no such partition
     */
    public StoredBlock block(int partition) throws IOException {
        return MapOutputIndex.block(entry, this::region, partition);
    }

    private @Nullable StoredSlice region(int id) {
        if (index != null && index.region().id() == id) {
            return index.region().bytes();
        }
        for (Lease lease : data) {
            if (lease.region().id() == id) {
                return lease.region().bytes();
            }
        }
        return null;
    }

    /**
     * Returns partitions {@code [start, end)} where they lie; valid while the caller holds a reference.
     *
     * @throws IOException if there are no such partitions, or an index on disk cannot be read
     */
    public StoredRange stored(int start, int end) throws IOException {
        return MapOutputIndex.range(entry, this::region, start, end);
    }

    /** Returns a range's bytes where they lie; valid while the caller holds a reference. */
    public List<StoredSlice> bytes(BlockRange range) {
        List<StoredSlice> bytes = new ArrayList<>(range.slices().size());
        for (RemoteSlice slice : range.slices()) {
            StoredSlice region = region(slice.regionId());
            if (region == null) {
                throw new IllegalStateException(
                        "index of map " + entry.mapId() + " names a region that is not its own");
            }
            bytes.add(region.slice(slice.offset(), slice.lengthBytes()));
        }
        return bytes;
    }

    @Override
    protected void free() {
        data.forEach(Lease::close);
        if (index != null) {
            index.close();
        }
    }
}
