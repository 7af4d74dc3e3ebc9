// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.memory.slice.DiskFile;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.Mapping;
import io.rdmashuffle.memory.slice.ReferenceCounted;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pool of a process that has ended, opened by one that serves it to others. Its files have no owner, so nothing in them
 * is written, freed or moved.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns the mappings of its regions and the open files of its disk tier, until it is closed and the
 * last reference released; who uses a region keeps that one mapped.
 */
public final class EndedPool extends ReferenceCounted {
    private static final Logger LOG = LoggerFactory.getLogger(EndedPool.class);

    private final int uid;
    private final IntFunction<@Nullable Path> diskFiles;
    private final Map<Integer, Region> regions = new HashMap<>();
    /** Open files of the disk tier by region; guarded by itself. */
    private final Map<Integer, DiskFile> open = new HashMap<>();

    private final List<Path> used = new ArrayList<>();
    private boolean freed;

    private EndedPool(int uid, IntFunction<@Nullable Path> diskFiles) {
        this.uid = uid;
        this.diskFiles = diskFiles;
    }

    /**
     * Maps all regions.
     *
     * @param files of the memory tier
     * @param diskFiles returns the file of a region of the disk tier, null if there can be none
     * @throws IOException if a file cannot be opened, or is not the owner's
     * @throws io.rdmashuffle.ffi.NativeException if it cannot be mapped
     */
    public static EndedPool open(PeerFiles files, IntFunction<@Nullable Path> diskFiles) throws IOException {
        EndedPool pool = new EndedPool(files.uid(), diskFiles);
        boolean complete = false;
        try {
            for (int id : files.regionIds()) {
                Mapping mapping = files.mapForDevices(id);
                pool.regions.put(id, Region.inMemory(id, files.directory(), mapping));
            }
            complete = true;
            return pool;
        } finally {
            if (!complete) {
                pool.close();
            }
        }
    }

    /** Returns the regions of the memory tier. */
    public List<Region> regions() {
        return List.copyOf(regions.values());
    }

    /** Returns the whole of a region, in memory or on disk; null if there is none of that number. */
    public @Nullable StoredSlice bytes(int regionId) {
        Region region = regions.get(regionId);
        if (region != null) {
            return region.bytes();
        }
        DiskFile file = Region.isOnDisk(regionId) ? file(regionId) : null;
        return file == null ? null : FileSlice.all(file);
    }

    /** Returns a range of a file of the disk tier, which may be shorter; null if there is no such file. */
    public @Nullable FileSlice onDisk(int regionId, long offset, long lengthBytes) {
        DiskFile file = offset < 0 || lengthBytes < 0 || offset > Long.MAX_VALUE - lengthBytes ? null : file(regionId);
        return file == null ? null : FileSlice.all(file).slice(offset, lengthBytes);
    }

    private @Nullable DiskFile file(int regionId) {
        synchronized (open) {
            DiskFile known = open.get(regionId);
            Path path = known == null && !freed ? diskFiles.apply(regionId) : null;
            if (path == null) {
                return known;
            }
            try {
                DiskFile opened = DiskFile.openForReading(path, uid);
                open.put(regionId, opened);
                used.add(path);
                return opened;
            } catch (IOException e) {
                LOG.debug("Cannot open region {} of a process that has ended", regionId, e);
                return null;
            }
        }
    }

    /** Returns the paths of the files of the disk tier that have been used. */
    public List<Path> usedFiles() {
        synchronized (open) {
            return List.copyOf(used);
        }
    }

    @Override
    protected void free() {
        regions.values().forEach(region -> region.shared().close());
        List<DiskFile> files;
        synchronized (open) {
            freed = true;
            files = new ArrayList<>(open.values());
            open.clear();
        }
        files.forEach(DiskFile::close);
    }
}
