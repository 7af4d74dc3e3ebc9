// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.nio.file.Path;

/**
 * One file of the pool, mapped whole: the unit that fabrics register and peers open.
 *
 * <p><b>Threading:</b> immutable as others see it; its free ranges belong to the pool's lock.
 *
 * <p><b>Ownership:</b> the {@link Pool} creates and unmaps it, the latter after its last lease is back.
 */
public final class Region {
    private final int id;
    private final Path file;
    private final Mapping mapping;
    private final FreeExtents free;

    Region(int id, Path file, Mapping mapping) {
        this.id = id;
        this.file = file;
        this.mapping = mapping;
        this.free = new FreeExtents(mapping.memory().lengthBytes());
    }

    /** Returns the number that names this region within its pool, counted from 0. */
    public int id() {
        return id;
    }

    /** Returns where the file is; it may be unlinked while the region lives. */
    public Path file() {
        return file;
    }

    /** Returns all of the region's bytes. */
    public MemorySlice memory() {
        return mapping.memory();
    }

    FreeExtents free() {
        return free;
    }

    Mapping mapping() {
        return mapping;
    }
}
