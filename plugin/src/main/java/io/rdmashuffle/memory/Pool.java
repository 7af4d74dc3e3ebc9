// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.text.Quantities;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shared memory under a hard cap, handed out as leases; it grows region by region and never gives regions back before
 * {@link #close()}, so that registrations stay O(regions). Map outputs, which fill whatever there is, cannot take what
 * {@link #setAside} leaves to the rest.
 *
 * <p><b>Threading:</b> thread-safe; one lock, held for a few map operations. A thread of the pool's own creates
 * regions, one at a time and outside the lock; who needs one waits for it as long as {@link Patience} allows.
 *
 * <p><b>Ownership:</b> owns its files and mappings. Leases are owned by their holders; a region whose leases are still
 * out when the pool closes stays mapped until the last of them is back.
 */
public final class Pool implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Pool.class);

    /**
     * What growth is expected to bring at least: pages are cleared at several GB/s and pinned at about one, and hosts
     * are busy. A region of 256 MB took 50 to 100 ms. Growth that takes longer is not waited for.
     */
    private static final long GROWTH_BYTES_PER_SECOND = 256 << 20;

    private static final long MIN_GROWTH_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long MAX_GROWTH_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** How long the pool's end waits for growth that has begun. */
    private static final long GROWTH_END_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** A full file system rarely has room again at once, and asking costs a system call under load. */
    private static final long GROWTH_RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final PoolSettings settings;
    private final PoolFiles files;
    private final long pageBytes;
    private final RegionListener listener;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition growthEnded = lock.newCondition();
    private final WaitingRequests waiting = new WaitingRequests(lock);
    private final DaemonThreads growthThreads = new DaemonThreads("pool-growth");
    private final Regions regions;
    private boolean growing;
    /** {@link System#nanoTime()} until which the growth that has begun is waited for. */
    private long growthExpectedBy = System.nanoTime();

    /** {@link System#nanoTime()} before which growth is not tried again, after it failed. */
    private long growthRefusedUntil = System.nanoTime();

    private boolean retired;
    private boolean closed;

    private Pool(PoolSettings settings, RegionListener listener) {
        this.settings = settings;
        this.listener = listener;
        this.pageBytes = settings.pageBytes();
        this.regions = new Regions(settings, new Keeper());
        this.files = PoolFiles.create(settings.directory());
    }

    /**
     * Removes what dead processes left in the directory, then creates the pool with its initial size, in whole pages;
     * with one region if that is 0.
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
            pool.addInitialRegions();
            return pool;
        } catch (RuntimeException e) {
            pool.close();
            throw e;
        }
    }

    private void addInitialRegions() {
        long initial = settings.initialBytes() == 0 ? settings.regionBytes() : settings.initialBytes();
        long missing = initial;
        while (missing > 0 && nextRegionBytes() > 0) {
            addRegion(missing);
            missing = initial - regions.capacityBytes();
        }
    }

    /** Removes what dead processes of this user left in a directory; returns how many pools that were. */
    public static int removeAbandoned(Path directory) {
        return PoolFiles.removeAbandoned(directory);
    }

    /**
     * Leases as {@link #reserve(Purpose, long, long, Patience)} does, and waits for growth.
     *
     * @param timeout how long to wait for others to give memory back
     */
    public @Nullable Lease reserve(Purpose purpose, long minimum, long preferred, Duration timeout)
            throws InterruptedException {
        return reserve(purpose, minimum, preferred, new Patience(true, timeout));
    }

    /**
     * Leases {@code preferred} bytes, or fewer but at least {@code minimum} when no free range is as long as that.
     *
     * <p>A pool that has no range of {@code preferred} bytes begins to grow, if it may, whether the caller waits for
     * that or not. No caller ever does the work of growing, and none waits longer than growing is expected to take,
     * counted from when it began: so growth that hangs holds up nothing.
     *
     * @return null when the pool is full, or a lease so long can never be; the caller takes another path
     */
    public @Nullable Lease reserve(Purpose purpose, long minimum, long preferred, Patience patience)
            throws InterruptedException {
        lock.lockInterruptibly();
        try {
            Request request = Request.of(purpose, minimum, preferred, regions.longestLease());
            return request == null ? null : takeOrWait(request, patience);
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Lease takeOrWait(Request request, Patience patience) throws InterruptedException {
        long returnsUntil = System.nanoTime() + patience.forReturns().toNanos();
        while (!retired) {
            Lease lease = regions.take(request, request.wanted());
            if (lease != null) {
                return lease;
            }
            boolean grows = beginGrowth();
            long now = System.nanoTime();
            long waitNanos = returnsUntil - now;
            if (grows && patience.forGrowth()) {
                waitNanos = Math.max(waitNanos, growthExpectedBy - now);
            }
            // Who waits for growth gets all that is wanted from it.
            if (!grows || waitNanos <= 0) {
                lease = regions.take(request, request.least());
            }
            if (lease == null && waitNanos > 0) {
                lease = waiting.await(request, waitNanos);
            }
            if (lease != null || waitNanos <= 0) {
                return lease;
            }
        }
        return null;
    }

    /**
     * Sets memory aside, in the regions that exist and in those to come, that map outputs cannot take: for indexes and
     * directory entries, and for reads. To be called once, when what lies in the pool from start to end has its place
     * and nothing else does.
     *
     * @param readBytes for reads in all; no more than a quarter of what is free in each region, so that in a small pool
     *     it is less
     */
    public void setAside(long readBytes) {
        lock.lock();
        try {
            regions.setAside(readBytes);
        } finally {
            lock.unlock();
        }
    }

    /** Returns the numbers of this moment. */
    public PoolUsage usage() {
        lock.lock();
        try {
            return regions.usage();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the regions that exist, in the order of their ids. */
    public List<Region> regions() {
        lock.lock();
        try {
            return List.copyOf(regions.all());
        } finally {
            lock.unlock();
        }
    }

    /**
     * Leases nothing from now on, as if the pool were full: peers may go on reading what is given back after this,
     * because it is never leased again. When this returns, no region is being registered any more.
     */
    public void retire() {
        lock.lock();
        try {
            retired = true;
            waiting.wakeAll();
            awaitGrowthEnd();
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
            waiting.wakeAll();
            awaitGrowthEnd();
            left = regions.usage();
            files.close();
            regions.all().forEach(region -> region.shared().close());
        } finally {
            lock.unlock();
        }
        if (left.leases() > 0) {
            throw new IllegalStateException("pool closed while " + left.leases() + " leases are out, bytes by purpose "
                    + left.usedByPurpose() + "; their regions stay mapped until they are returned");
        }
    }

    /** Hands free bytes of an area to those who wait; none settles for less while the pool may grow. */
    private void serveFrom(Region region, Area area) {
        if (!retired) {
            boolean settle = !growing && !mayGrow();
            waiting.serve(
                    request -> regions.takeFrom(region, area, request, settle ? request.least() : request.wanted()));
        }
    }

    private boolean mayGrow() {
        return System.nanoTime() - growthRefusedUntil >= 0 && nextRegionBytes() > 0;
    }

    private long nextRegionBytes() {
        return Math.min(settings.regionBytes(), settings.capBytes() - regions.capacityBytes()) / pageBytes * pageBytes;
    }

    /** Has the pool grow unless it does or may not; returns whether it does. */
    private boolean beginGrowth() {
        if (!growing && mayGrow()) {
            long expectedNanos = nextRegionBytes() / GROWTH_BYTES_PER_SECOND * TimeUnit.SECONDS.toNanos(1);
            growthExpectedBy =
                    System.nanoTime() + Math.min(Math.max(expectedNanos, MIN_GROWTH_WAIT_NANOS), MAX_GROWTH_WAIT_NANOS);
            growthThreads.newThread(this::grow).start();
            growing = true;
        }
        return growing;
    }

    private void grow() {
        Region added = null;
        try {
            added = addRegion(settings.regionBytes());
        } catch (RuntimeException e) {
            // The file system is full, a device refuses the registration, or the pool was closed meanwhile.
            LOG.warn(
                    "Cannot grow the pool: it stays at {} (spark.shuffle.rdma.pool.maxSize is {}); map outputs that do"
                            + " not fit go to Spark's shuffle files",
                    Quantities.mebibytes(regions.capacityBytes()),
                    Quantities.mebibytes(settings.capBytes()),
                    e);
        } finally {
            lock.lock();
            try {
                growing = false;
                growthRefusedUntil = System.nanoTime() + (added == null ? GROWTH_RETRY_NANOS : 0);
                if (added != null) {
                    for (Area area : Area.values()) {
                        serveFrom(added, area);
                    }
                }
                waiting.wakeAll();
                growthEnded.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    private void awaitGrowthEnd() {
        boolean interrupted = false;
        long left = GROWTH_END_NANOS;
        while (growing && left > 0) {
            try {
                left = growthEnded.awaitNanos(left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Creates the next region, of the pages that hold {@code most} bytes if it is not shorter by itself; only the
     * constructing thread or the one that set {@link #growing} comes here.
     */
    private Region addRegion(long most) {
        final int id;
        final long length;
        lock.lock();
        try {
            id = regions.all().size();
            length = Math.min(nextRegionBytes(), (most + pageBytes - 1) / pageBytes * pageBytes);
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
            if (closed) {
                region.shared().close();
            }
        } finally {
            lock.unlock();
        }
        return region;
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
                return regions.extend(lease, bytes);
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void releaseTail(Lease lease, long offset, long bytes) {
            lock.lock();
            try {
                regions.releaseTail(lease, offset, bytes);
                serveFrom(lease.region(), lease.region().areaOf(offset));
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void release(Lease lease) {
            lock.lock();
            try {
                regions.release(lease);
                serveFrom(lease.region(), lease.region().areaOf(lease.offset()));
            } finally {
                lock.unlock();
            }
            lease.region().shared().release();
        }
    }
}
