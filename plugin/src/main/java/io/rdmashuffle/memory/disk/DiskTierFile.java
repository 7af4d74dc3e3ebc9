// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

import io.rdmashuffle.memory.Area;
import io.rdmashuffle.memory.FreeExtents;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.slice.DiskFile;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.text.Quantities;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * File of the disk tier in one of Spark's local directories. It is created with the first lease.
 *
 * <p><b>Threading:</b> thread-safe. The file grows and shrinks under {@link #growth}; free ranges belong to this
 * object's lock, which is held for a few map operations and never during a system call. Locked in this order.
 *
 * <p><b>Ownership:</b> owns the file, which stays open for the leases that are out.
 */
final class DiskTierFile implements Lease.Owner, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DiskTierFile.class);

    /** A page: a smaller unit would have two map outputs write one page. */
    private static final long GRANULE_BYTES = 4096;

    private final int regionId;
    private final Path directory;
    private final Path path;
    private final DiskSettings settings;
    private final Object growth = new Object();
    private @Nullable Opened opened;
    private long fileBytes;
    private long usedBytes;
    private long peakBytes;
    private int leases;
    private boolean retired;

    /** The file, and the region that it is to the pool. */
    private record Opened(DiskFile file, Region region) {}

    DiskTierFile(int regionId, Path directory, Path path, DiskSettings settings) {
        this.regionId = regionId;
        this.directory = directory;
        this.path = path;
        this.settings = settings;
    }

    /**
     * Leases bytes, at a new end of the file if nothing else is free; null if the tier is retired.
     *
     * @throws IOException if the file cannot grow and has no free range of {@code minimum} bytes
     */
    @Nullable
    Lease reserve(Purpose purpose, long minimum, long preferred) throws IOException {
        long whole = Math.max(minimum, preferred);
        Lease lease = take(purpose, whole, whole);
        if (lease != null) {
            return lease;
        }
        synchronized (growth) {
            // Another thread may have grown the file while this one waited.
            lease = take(purpose, whole, whole);
            if (lease != null) {
                return lease;
            }
            IOException failure = grow(roundUp(Math.max(1, minimum)), roundUp(Math.max(1, whole)));
            // If the disk is full, ranges released by others may suffice.
            lease = take(purpose, minimum, preferred);
            if (lease == null && failure != null) {
                throw failure;
            }
            return lease;
        }
    }

    private static long roundUp(long bytes) {
        return Math.addExact(bytes, GRANULE_BYTES - 1) & -GRANULE_BYTES;
    }

    /** Leases bytes that are free without growth; null if there is no range of {@code minimum} bytes. */
    synchronized @Nullable Lease take(Purpose purpose, long minimum, long preferred) {
        if (opened == null || retired) {
            return null;
        }
        long least = roundUp(Math.max(1, minimum));
        long wanted = Math.max(least, roundUp(preferred));
        Region region = opened.region();
        FreeExtents.Extent extent = region.free(Area.OUTPUTS).take(least, wanted);
        if (extent == null) {
            return null;
        }
        if (!region.shared().retain()) {
            throw new IllegalStateException(path + " is closed while the disk tier is open");
        }
        leases++;
        count(extent.lengthBytes());
        return new Lease(this, region, extent.offset(), extent.lengthBytes(), purpose);
    }

    private void count(long bytes) {
        usedBytes += bytes;
        peakBytes = Math.max(peakBytes, usedBytes);
    }

    /** Makes the file longer, under {@link #growth}, unless it may not grow; returns why that was not possible. */
    private @Nullable IOException grow(long least, long wanted) {
        synchronized (this) {
            if (retired) {
                return null;
            }
        }
        try {
            long room = Files.getFileStore(directory).getUsableSpace() - settings.minFreeBytes();
            if (least > room) {
                throw new IOException("a file system with " + Quantities.mebibytes(room + settings.minFreeBytes())
                        + " free has none to spare (spark.shuffle.rdma.disk.minFree)");
            }
            long bytes = Math.min(Math.max(wanted, settings.growthBytes()), room) & -GRANULE_BYTES;
            Opened open = open();
            open.file().allocate(fileBytes, bytes);
            synchronized (this) {
                open.region().free(Area.OUTPUTS).release(fileBytes, bytes);
                fileBytes += bytes;
            }
            return null;
        } catch (IOException e) {
            return e;
        }
    }

    /** Creates the file if there is none, under {@link #growth}. */
    private Opened open() throws IOException {
        synchronized (this) {
            if (opened != null) {
                return opened;
            }
        }
        DiskFile created = DiskFile.create(path);
        Opened open = new Opened(created, Region.onDisk(regionId, created));
        synchronized (this) {
            opened = open;
        }
        return open;
    }

    /** Returns a range of the file if all of it is leased, else null. */
    synchronized @Nullable FileSlice leased(long offset, long lengthBytes) {
        if (opened == null
                || offset < 0
                || lengthBytes <= 0
                || lengthBytes > fileBytes
                || offset > fileBytes - lengthBytes
                || opened.region().free(Area.OUTPUTS).overlaps(offset, lengthBytes)) {
            return null;
        }
        return new FileSlice(opened.file(), offset, lengthBytes);
    }

    @Override
    public long granuleBytes() {
        return GRANULE_BYTES;
    }

    @Override
    public synchronized long extend(Lease lease, long bytes) {
        long added =
                retired ? 0 : lease.region().free(Area.OUTPUTS).takeAt(lease.offset() + lease.lengthBytes(), bytes);
        count(added);
        return added;
    }

    /** {@inheritDoc} Nothing was written there. */
    @Override
    public synchronized void releaseTail(Lease lease, long offset, long bytes) {
        lease.region().free(Area.OUTPUTS).release(offset, bytes);
        usedBytes -= bytes;
    }

    @Override
    public void release(Lease lease) {
        DiskFile file;
        synchronized (this) {
            boolean last = leases == 1;
            file = last || retired || opened == null ? null : opened.file();
        }
        if (file != null) {
            // Its dirty pages would be written to disk for nothing. Before it is free: its next holder may write.
            file.punch(lease.offset(), lease.lengthBytes());
        }
        boolean empty;
        synchronized (this) {
            lease.region().free(Area.OUTPUTS).release(lease.offset(), lease.lengthBytes());
            usedBytes -= lease.lengthBytes();
            leases--;
            empty = leases == 0 && !retired;
        }
        if (empty) {
            shrink();
        }
        lease.region().shared().release();
    }

    /** Cuts the file down to nothing if it still holds nothing. */
    private void shrink() {
        synchronized (growth) {
            DiskFile file;
            synchronized (this) {
                if (leases > 0 || fileBytes == 0 || opened == null) {
                    return;
                }
                file = opened.file();
                opened.region().free(Area.OUTPUTS).clear();
                fileBytes = 0;
            }
            try {
                file.truncate();
            } catch (IOException e) {
                LOG.debug("Cannot truncate {}", path, e);
            }
        }
    }

    synchronized DiskUsage usage() {
        return new DiskUsage(fileBytes, usedBytes, peakBytes, leases);
    }

    /**
     * Refuses further leases, and keeps released ranges until the file is removed: peers continue to read from
     * directories that do not tell that their owner has ended.
     */
    synchronized void retire() {
        retired = true;
    }

    /** Removes the file; leases that are out keep it open. */
    @Override
    public void close() {
        Opened open;
        synchronized (growth) {
            synchronized (this) {
                retired = true;
                open = opened;
            }
        }
        if (open == null) {
            return;
        }
        open.file().close();
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            LOG.warn("Cannot remove {}; Spark removes it with its directory", path, e);
        }
    }
}
