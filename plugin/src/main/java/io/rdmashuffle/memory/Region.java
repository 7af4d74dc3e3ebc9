// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.nio.file.Path;

/**
 * One file of the pool: mapped memory, the unit that fabrics register and peers open, or a file of the disk tier.
 *
 * <p><b>Threading:</b> immutable as others see it; its free ranges belong to the lock of its tier.
 *
 * <p><b>Ownership:</b> {@link Pool} or {@link DiskTier} creates and closes it, the latter after its last lease is back.
 */
public final class Region {
    private final int id;
    private final Path file;
    private final StoredSlice bytes;
    private final SharedBytes shared;
    private final FreeExtents free;

    private Region(int id, Path file, StoredSlice bytes, SharedBytes shared, FreeExtents free) {
        this.id = id;
        this.file = file;
        this.bytes = bytes;
        this.shared = shared;
        this.free = free;
    }

    /** Creates a region of memory, all of which is free. */
    static Region inMemory(int id, Path file, Mapping mapping) {
        MemorySlice memory = mapping.memory();
        return new Region(id, file, memory, mapping, new FreeExtents(memory.lengthBytes()));
    }

    /** Creates a region of the disk tier, which has no byte yet. */
    static Region onDisk(int id, DiskFile file) {
        return new Region(id, file.path(), FileSlice.all(file), file, FreeExtents.none());
    }

    /**
     * Returns the number that names this region within its pool: counted from 0 in the memory tier, from
     * {@link DiskTier#FIRST_REGION} on disk.
     */
    public int id() {
        return id;
    }

    /** Returns where the file is; it may be unlinked while the region lives. */
    public Path file() {
        return file;
    }

    /** Returns all of the region's bytes, in memory or on disk. */
    public StoredSlice bytes() {
        return bytes;
    }

    /**
     * Returns all bytes of a region of the memory tier.
     *
     * @throws IllegalStateException if it is one of the disk tier
     */
    public MemorySlice memory() {
        if (bytes instanceof MemorySlice memory) {
            return memory;
        }
        throw new IllegalStateException("region " + id + " lies on disk");
    }

    FreeExtents free() {
        return free;
    }

    SharedBytes shared() {
        return shared;
    }
}
