// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.text.Quantities;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shared memory under a hard cap, handed out as leases; it grows region by region and never gives regions back before
 * {@link #close()}, so that registrations stay O(regions).
 *
 * <p><b>Threading:</b> thread-safe; one lock, held for a few map operations. Growing happens outside the lock, one
 * thread at a time.
 *
 * <p><b>Ownership:</b> owns its files and mappings. Leases are owned by their holders; a region whose leases are still
 * out when the pool closes stays mapped until the last of them is back.
 */
public final class Pool implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Pool.class);

    /** How long a reservation waits for another thread that is creating a region; page clearing runs at GB/s. */
    private static final long GROWTH_WAIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** A full file system rarely has room again at once, and asking costs a system call under load. */
    private static final long GROWTH_RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final PoolSettings settings;
    private final PoolFiles files;
    private final long pageBytes;
    private final RegionListener listener;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final List<Region> regions = new ArrayList<>();
    private final PoolUsage.Accountant accountant = new PoolUsage.Accountant();
    private final Keeper keeper = new Keeper();
    private long capacityBytes;
    private boolean growing;
    /** {@link System#nanoTime()} before which growth is not tried again, after it failed. */
    private long growthRefusedUntil = System.nanoTime();

    private boolean retired;
    private boolean closed;

    private Pool(PoolSettings settings, RegionListener listener) {
        this.settings = settings;
        this.listener = listener;
        this.pageBytes = settings.pageBytes();
        this.files = PoolFiles.create(settings.directory());
    }

    /**
     * Removes what dead processes left in the directory, then creates the pool with at least one region.
     *
     * @throws NativeException if the first regions cannot be created
     */
    public static Pool create(PoolSettings settings, RegionListener listener) {
        Pool pool = new Pool(settings, listener);
        if (pool.nextRegionBytes() == 0) {
            pool.close();
            throw new IllegalArgumentException("spark.shuffle.rdma.pool.maxSize=" + settings.capBytes()
                    + " and spark.shuffle.rdma.pool.regionSize=" + settings.regionBytes()
                    + " must each hold one page of "
                    + pool.pageBytes + " bytes of " + settings.directory());
        }
        try {
            do {
                pool.addRegion();
            } while (pool.capacityBytes < settings.initialBytes() && pool.nextRegionBytes() > 0);
            return pool;
        } catch (RuntimeException e) {
            pool.close();
            throw e;
        }
    }

    /** Removes what dead processes of this user left in a directory; returns how many pools that were. */
    public static int removeAbandoned(Path directory) {
        return PoolFiles.removeAbandoned(directory);
    }

    /**
     * Leases {@code preferred} bytes, or fewer but at least {@code minimum} when no free range is as long as that.
     *
     * @param timeout how long to wait for others to give memory back
     * @return null when the pool is full, or a lease so long can never be; the caller takes another path
     */
    public @Nullable Lease reserve(Purpose purpose, long minimum, long preferred, Duration timeout)
            throws InterruptedException {
        long longest = Math.min(settings.regionBytes(), settings.capBytes());
        // Compared before it is rounded: the number may be a peer's, and near the largest that there is.
        if (minimum > longest) {
            return null;
        }
        long least = Math.max(FreeExtents.roundUp(minimum), FreeExtents.GRANULE_BYTES);
        if (least > longest) {
            return null;
        }
        // More than a region can hold would make the pool grow to its cap before it settles for what there is.
        long wanted = Math.max(Math.min(FreeExtents.roundUp(Math.min(preferred, longest)), longest), least);
        long timeoutNanos = timeout.toNanos();
        while (true) {
            boolean grow = false;
            lock.lockInterruptibly();
            try {
                Lease lease = retired ? null : take(purpose, least, wanted);
                if (lease != null || retired) {
                    return lease;
                }
                if (growing) {
                    if (changed.awaitNanos(GROWTH_WAIT_NANOS) <= 0) {
                        return null;
                    }
                } else if (mayGrow()) {
                    growing = true;
                    grow = true;
                } else if (timeoutNanos <= 0) {
                    return null;
                } else {
                    timeoutNanos = changed.awaitNanos(timeoutNanos);
                }
            } finally {
                lock.unlock();
            }
            if (grow) {
                tryGrow();
            }
        }
    }

    /** Returns the numbers of this moment. */
    public PoolUsage usage() {
        lock.lock();
        try {
            return accountant.snapshot(settings.capBytes(), capacityBytes, regions.size());
        } finally {
            lock.unlock();
        }
    }

    /** Returns the regions that exist, in the order of their ids. */
    public List<Region> regions() {
        lock.lock();
        try {
            return List.copyOf(regions);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Leases nothing from now on, as if the pool were full: peers may go on reading what is given back after this,
     * because it is never leased again.
     */
    public void retire() {
        lock.lock();
        try {
            retired = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Removes the files at once and unmaps what is not leased; later calls do nothing.
     *
     * @throws IllegalStateException if leases are out; it says how many bytes for which purpose
     */
    @Override
    public void close() {
        PoolUsage left;
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            retired = true;
            left = accountant.snapshot(settings.capBytes(), capacityBytes, regions.size());
            files.close();
            regions.forEach(region -> region.shared().close());
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (left.leases() > 0) {
            throw new IllegalStateException("pool closed while " + left.leases() + " leases are out, bytes by purpose "
                    + left.usedByPurpose() + "; their regions stay mapped until they are returned");
        }
    }

    private @Nullable Lease take(Purpose purpose, long least, long wanted) {
        Lease lease = takeFromAny(purpose, wanted, wanted);
        boolean settleForLess = lease == null && least < wanted && !growing && !mayGrow();
        return settleForLess ? takeFromAny(purpose, least, wanted) : lease;
    }

    private @Nullable Lease takeFromAny(Purpose purpose, long least, long wanted) {
        for (Region region : regions) {
            FreeExtents.Extent extent = region.free().take(least, wanted);
            if (extent != null) {
                if (!region.shared().retain()) {
                    throw new IllegalStateException("region " + region.id() + " is unmapped while the pool is open");
                }
                accountant.bytesTaken(purpose, extent.lengthBytes());
                accountant.leaseOpened();
                return new Lease(keeper, region, extent.offset(), extent.lengthBytes(), purpose);
            }
        }
        return null;
    }

    private boolean mayGrow() {
        return System.nanoTime() - growthRefusedUntil >= 0 && nextRegionBytes() > 0;
    }

    private long nextRegionBytes() {
        return Math.min(settings.regionBytes(), settings.capBytes() - capacityBytes) / pageBytes * pageBytes;
    }

    private void tryGrow() {
        boolean grown = false;
        try {
            addRegion();
            grown = true;
        } catch (NativeException | IllegalStateException e) {
            // The file system is full, a device refuses the registration, or the pool was closed meanwhile.
            LOG.warn(
                    "Cannot grow the pool: it stays at {} (spark.shuffle.rdma.pool.maxSize is {}); map outputs that do"
                            + " not fit go to Spark's shuffle files",
                    Quantities.mebibytes(capacityBytes),
                    Quantities.mebibytes(settings.capBytes()),
                    e);
        } finally {
            lock.lock();
            try {
                growing = false;
                growthRefusedUntil = System.nanoTime() + (grown ? 0 : GROWTH_RETRY_NANOS);
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Creates the next region; only the constructing thread or the one that set {@link #growing} comes here. */
    private void addRegion() {
        final int id;
        final long length;
        lock.lock();
        try {
            id = regions.size();
            length = nextRegionBytes();
        } finally {
            lock.unlock();
        }
        Mapping mapping = files.createRegion(id, length);
        Region region = Region.inMemory(id, files.path(id), mapping);
        try {
            if (settings.adviseHugepages() && !mapping.adviseHugepages() && id == 0) {
                LOG.warn(
                        "No transparent huge pages in {}: see shmem_enabled, or use a hugetlbfs", settings.directory());
            }
            listener.regionAdded(region);
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, mapping, () -> files.removeRegion(id));
            throw failure;
        }
        lock.lock();
        try {
            regions.add(region);
            capacityBytes += length;
            if (closed) {
                region.shared().close();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Serves the leases that are out. */
    private final class Keeper implements Lease.Owner {
        @Override
        public long granuleBytes() {
            return FreeExtents.GRANULE_BYTES;
        }

        @Override
        public long extend(Lease lease, long bytes) {
            lock.lock();
            try {
                if (retired) {
                    return 0;
                }
                long added = lease.region().free().takeAt(lease.offset() + lease.lengthBytes(), bytes);
                if (added > 0) {
                    accountant.bytesTaken(lease.purpose(), added);
                }
                return added;
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void releaseTail(Lease lease, long offset, long bytes) {
            lock.lock();
            try {
                lease.region().free().release(offset, bytes);
                accountant.bytesReturned(lease.purpose(), bytes);
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void release(Lease lease) {
            lock.lock();
            try {
                lease.region().free().release(lease.offset(), lease.lengthBytes());
                accountant.bytesReturned(lease.purpose(), lease.lengthBytes());
                accountant.leaseClosed();
                changed.signalAll();
            } finally {
                lock.unlock();
            }
            lease.region().shared().release();
        }
    }
}
