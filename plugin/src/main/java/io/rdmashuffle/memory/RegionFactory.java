// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.memory.host.TmpfsHugepages;
import io.rdmashuffle.memory.slice.Mapping;
import java.nio.file.Path;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Factory of a pool's regions: file, mapping and registration, created and removed together.
 *
 * <p><b>Threading:</b> thread-safe; a region is created or removed at a time. {@link #close()} may come meanwhile.
 *
 * <p><b>Ownership:</b> owns the files; regions are the pool's.
 */
class RegionFactory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RegionFactory.class);

    /** Asked for when it is needed first, since a pool that could not be created still has a factory. */
    private static final long UNKNOWN = 0;

    private final PoolSettings settings;
    private final RegionListener listener;
    private final LongSupplier freeBytes;
    private final PoolFiles files;
    private final boolean hugepages;
    private final Object listening = new Object();
    private volatile long pageBytes = UNKNOWN;

    RegionFactory(PoolSettings settings, RegionListener listener) {
        this(settings, listener, settings::freeBytes);
    }

    /** Creates a factory with a given view of the file system's free space; for tests. */
    RegionFactory(PoolSettings settings, RegionListener listener, LongSupplier freeBytes) {
        this.settings = settings;
        this.listener = listener;
        this.freeBytes = freeBytes;
        this.files = PoolFiles.create(settings.directory(), settings.application());
        this.hugepages = settings.adviseHugepages() && areGiven(settings.directory());
    }

    private static boolean areGiven(Path directory) {
        TmpfsHugepages huge = TmpfsHugepages.of(directory);
        LOG.debug("Transparent huge pages for the pool: {} ({})", huge.given(), huge.state());
        return huge.given();
    }

    /** Returns the unit in which regions are created. */
    long pageBytes() {
        if (pageBytes == UNKNOWN) {
            pageBytes = settings.pageBytes();
        }
        return pageBytes;
    }

    /** Returns the length of the next region of a pool of {@code bytes}; 0 if it may not grow. */
    long nextBytes(long capacityBytes) {
        return pages(Math.min(settings.regionBytes(), settings.capBytes() - capacityBytes));
    }

    private long pages(long bytes) {
        return bytes / pageBytes() * pageBytes();
    }

    /**
     * Creates a region of {@code bytes}, or of the free space of the file system if that is less.
     *
     * @param least fewer bytes are not worth a region
     * @throws NativeException if the file system has no room, or a device refuses the registration
     */
    Region create(int id, long bytes, long least) {
        Mapping mapping = map(id, bytes, least);
        Region region = Region.inMemory(id, file(id), mapping);
        try {
            synchronized (listening) {
                listener.regionAdded(region);
            }
            return region;
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, mapping, () -> files.removeRegion(id));
            throw failure;
        }
    }

    /** Returns the file of a region that has been created. */
    Path file(int id) {
        return files.path(id);
    }

    /**
     * Removes a region without leases.
     *
     * @throws RuntimeException if the listener cannot release it; mapping and file remain then
     */
    void remove(Region region) {
        synchronized (listening) {
            listener.regionRemoved(region);
        }
        region.shared().close();
        files.removeRegion(region.id());
    }

    /** Searches for files that another program has removed. */
    void checkFiles() {
        files.check();
    }

    /** Returns whether the files outlive this process. */
    boolean outlives() {
        return files.outlive();
    }

    /** Returns the directory of the files; null before there is one. */
    @Nullable
    Path path() {
        return files.path();
    }

    /** Leaves the files where they are when the process is asked to end before anyone closed. */
    void keepAtExit() {
        files.keepAtExit();
    }

    /** Ends the use of the files without removing them. */
    void leave() {
        files.leave();
    }

    /** Returns the number of files that other programs have removed, as far as detected. */
    long removedFiles() {
        return files.removedByOthers();
    }

    /** Others may take, between the look and the attempt, what the file system has left. */
    private Mapping map(int id, long bytes, long least) {
        long length = bytes;
        while (true) {
            long free = pages(freeBytes.getAsLong());
            if (free < length && free >= least) {
                length = free;
            }
            try {
                return createFile(id, length);
            } catch (NativeException e) {
                length = pages(length / 2);
                if (!Errno.ENOSPC.is(e.errno()) || length < least || free < least) {
                    throw e;
                }
            }
        }
    }

    /** Creates and maps the file of a region, with all of its pages; tests use sparse files. */
    Mapping createFile(int id, long length) {
        return files.createRegion(id, length, hugepages);
    }

    /** Removes the files; processes that have them mapped keep the bytes. */
    @Override
    public void close() {
        files.close();
    }
}
