// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.text.Quantities;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shared memory with a hard cap, allocated as leases. The pool grows by regions and releases only idle regions, so that
 * registrations stay O(regions). Map outputs cannot use the memory reserved by {@link #setAside}.
 *
 * <p><b>Threading:</b> thread-safe; one lock, held for a few map operations. A thread of the pool's own creates
 * regions, one at a time and outside the lock; callers wait for one as long as {@link WaitPolicy} allows.
 *
 * <p><b>Ownership:</b> owns its files and mappings. Leases are owned by their holders; a region whose leases are still
 * out when the pool closes stays mapped until the last of them is back.
 */
public final class Pool implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Pool.class);

    /** A region that is clipped to what the file system has left has at least this part of a whole one. */
    private static final long LEAST_PART = 16;

    /**
     * A small pool grows by this, a larger one by as much as it has, up to a region: so the time that a task waits for
     * growth is in proportion to the bytes in use.
     */
    private static final long LEAST_GROWTH_BYTES = 256L << 20;

    /** A lease wants no more, so that regions larger than this are needed by no request. Longer ones gain nothing. */
    private static final long MAX_WANTED_BYTES = 1L << 30;

    /** A region holds a lease of half its length in addition to the reserved memory. */
    private static final long PARTS_OF_GROWTH = 2;

    /** The pool counts as full with less than this part of it free for map outputs. */
    private static final long FULL_PART = 16;

    private final PoolSettings settings;
    private final RegionFactory factory;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition growthEnded = lock.newCondition();
    private final WaitingRequests waiting = new WaitingRequests(lock);
    private final AtomicBoolean shortageReported = new AtomicBoolean();
    private final Regions regions;
    private final Growth growth = new Growth(new DaemonThreads("pool-growth"));
    private final Shrinking shrinking;
    private boolean retired;
    private boolean closed;

    private Pool(PoolSettings settings, RegionFactory factory, LongSupplier nanoClock) {
        this.settings = settings;
        this.factory = factory;
        this.regions = new Regions(settings, new Keeper(), nanoClock);
        this.shrinking = new Shrinking(settings, lock, regions, factory);
    }

    /**
     * Removes what dead processes left in the directory, then creates the pool with its initial size, in whole pages;
     * with one region if that is 0.
     *
     * @throws NativeException if the first regions cannot be created
     */
    public static Pool create(PoolSettings settings, RegionListener listener) {
        return create(settings, listener, System::nanoTime);
    }

    /** Creates a pool with a clock for the idle time of regions; for tests. */
    static Pool create(PoolSettings settings, RegionListener listener, LongSupplier nanoClock) {
        return create(settings, new RegionFactory(settings, listener), nanoClock);
    }

    /** Creates a pool whose regions come from a given factory; for tests. */
    static Pool create(PoolSettings settings, RegionFactory factory, LongSupplier nanoClock) {
        Pool pool = new Pool(settings, factory, nanoClock);
        try {
            pool.addInitialRegions();
            return pool;
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, pool);
            throw failure;
        }
    }

    /**
     * Creates a pool with as much of the initial size as this host has. A pool without memory refuses every
     * reservation.
     *
     * @param shortage receives the reason why the pool has less than its initial size
     */
    public static Pool createWhatFits(PoolSettings settings, RegionListener listener, Consumer<String> shortage) {
        Pool pool = new Pool(settings, new RegionFactory(settings, listener), System::nanoTime);
        try {
            pool.addInitialRegions();
        } catch (NativeException | UncheckedIOException | IllegalArgumentException e) {
            LOG.debug("The pool is smaller than it should be", e);
            shortage.accept(String.valueOf(e.getMessage()));
            pool.beginShort();
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, pool);
            throw failure;
        }
        return pool;
    }

    private void addInitialRegions() {
        removeAbandoned(settings);
        if (nextRegionBytes() == 0) {
            throw new IllegalArgumentException("spark.shuffle.rdma.pool.maxSize=" + settings.capBytes()
                    + " and spark.shuffle.rdma.pool.regionSize=" + settings.regionBytes()
                    + " must each hold one page of "
                    + factory.pageBytes() + " bytes of " + settings.directory());
        }
        long initial = settings.initialBytes() == 0 ? settings.regionBytes() : settings.initialBytes();
        long missing = initial;
        while (missing > 0 && nextRegionBytes() > 0) {
            addRegion(missing, factory.pageBytes());
            missing = initial - regions.capacityBytes();
        }
    }

    private void beginShort() {
        lock.lock();
        try {
            growth.fail();
            // Peers know this process by its first region, which is not there, so there is no use for another one.
            retired = regions.all().isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /** Records that a shortage of memory was already logged, so that later messages are at DEBUG. */
    public void shortageReported() {
        shortageReported.set(true);
    }

    /**
     * Removes what dead processes of this user left in a directory, except pools of applications that go on; returns
     * how many pools that were.
     */
    public static int removeAbandoned(Path directory) {
        return removeAbandoned(directory, Pool::goesOn);
    }

    /**
     * Returns whether an application goes on on this host: a process of it holds another pool, or lived less than a day
     * ago. If its directory is gone, it has ended.
     *
     * @param pool directory of a pool of the application, which does not count
     */
    public static boolean goesOn(Path pool, PoolApplication application) {
        return PoolDirectory.goesOn(pool, application);
    }

    /** Records that the application of a dead process's pool goes on on this host. */
    public static void touch(Path pool) {
        PoolDirectory.touch(pool);
    }

    /**
     * Removes the same before a pool of these settings is created, except pools of its own application, which it may
     * have to serve.
     */
    public static int removeAbandoned(PoolSettings settings) {
        PoolApplication own = settings.application();
        return removeAbandoned(
                settings.directory(),
                (pool, application) ->
                        goesOn(pool, application) || (own != null && own.id().equals(application.id())));
    }

    /** Removes the same, and pools of dead processes of this application, though it goes on. */
    public static int removeAbandoned(Path directory, String applicationId) {
        return removeAbandoned(directory, (pool, other) -> !other.id().equals(applicationId) && goesOn(pool, other));
    }

    /**
     * Removes what dead processes of this user left in a directory; returns how many pools that were.
     *
     * @param isKept whether files that may outlive their process are kept, by the pool's own directory and its
     *     application
     */
    public static int removeAbandoned(Path directory, BiPredicate<Path, PoolApplication> isKept) {
        return PoolFiles.removeAbandoned(directory, isKept);
    }

    /**
     * Leases as {@link #reserve(Purpose, long, long, WaitPolicy)} does, and waits for growth.
     *
     * @param timeout time to wait for others to release memory
     */
    public @Nullable Lease reserve(Purpose purpose, long minimum, long preferred, Duration timeout)
            throws InterruptedException {
        return reserve(purpose, minimum, preferred, new WaitPolicy(true, timeout));
    }

    /** Returns the length in bytes of the longest lease that map outputs and reads can have; takes no lock. */
    public long longestLease() {
        return regions.longestLease();
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
    public @Nullable Lease reserve(Purpose purpose, long minimum, long preferred, WaitPolicy waitPolicy)
            throws InterruptedException {
        Lease lease;
        boolean full;
        lock.lockInterruptibly();
        try {
            Request request =
                    Request.of(purpose, minimum, Math.min(preferred, MAX_WANTED_BYTES), regions.longestLease());
            lease = request == null ? null : takeOrWait(request, waitPolicy);
            boolean refused = purpose == Purpose.MAP_OUTPUT && lease == null && !retired && !growth.isUnderWay();
            full = refused && isFull();
            if (refused) {
                regions.countRefusal();
            }
        } finally {
            lock.unlock();
        }
        if (full && !shortageReported.get()) {
            reportShortage(
                    "Pool full (spark.shuffle.rdma.pool.maxSize {}); map outputs that do not fit go to disk, without"
                            + " further warnings",
                    Quantities.mebibytes(settings.capBytes()));
        }
        return lease;
    }

    /** Returns whether the pool cannot grow and hardly any memory for map outputs is left. */
    private boolean isFull() {
        return nextRegionBytes() == 0 && regions.freeOutputBytes() < regions.capacityBytes() / FULL_PART;
    }

    private @Nullable Lease takeOrWait(Request request, WaitPolicy waitPolicy) throws InterruptedException {
        long returnsUntil = System.nanoTime() + waitPolicy.forReturns().toNanos();
        while (!retired) {
            Lease lease = regions.take(request, request.wanted());
            if (lease != null) {
                return lease;
            }
            boolean grows = beginGrowth(request.wanted());
            long now = System.nanoTime();
            long waitNanos = returnsUntil - now;
            if (grows && waitPolicy.forGrowth()) {
                waitNanos = Math.max(waitNanos, growth.expectedByNanos() - now);
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
     * Reserves memory in all current and future regions that map outputs cannot use: for indexes and directory entries,
     * for reads, and for staging. Called once, after the permanent leases and before all others.
     *
     * @param readBytes total for reads; at most a quarter of the free bytes of each region
     * @param stagingBytes total for staging of the disk tier; at most a sixteenth of the free bytes of each region
     */
    public void setAside(long readBytes, long stagingBytes) {
        lock.lock();
        try {
            regions.setAside(readBytes, stagingBytes);
        } finally {
            lock.unlock();
        }
    }

    /** Returns the number of regions searched for room since the start; for tests. */
    long visits() {
        lock.lock();
        try {
            return regions.visits();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the numbers of this moment. */
    public PoolUsage usage() {
        lock.lock();
        try {
            return regions.usage(growth.hasFailed() ? regions.capacityBytes() : settings.capBytes());
        } finally {
            lock.unlock();
        }
    }

    /** Returns the total time of waits for room since the start. */
    public long waitedNanos() {
        return waiting.waitedNanos();
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
     * Releases regions to the host that have been idle for that time, down to the initial size. The pool grows again on
     * demand.
     *
     * @return number of released regions
     */
    public int giveBackIdle(Duration idle) {
        int count = shrinking.giveBack(idle);
        if (count > 0) {
            lock.lock();
            try {
                growth.forgetFailure();
            } finally {
                lock.unlock();
            }
        }
        return count;
    }

    /** Searches for files of the pool that another program has removed, and records that this process lives. */
    public void checkFiles() {
        factory.checkFiles();
    }

    /** Returns whether the pool's files outlive this process, as {@link PoolSettings#application} asks. */
    public boolean outlives() {
        return factory.outlives();
    }

    /** Returns the directory of the pool's files; null before there is one. */
    public @Nullable Path filesPath() {
        return factory.path();
    }

    /** Leaves the files where they are when the process is asked to end before the pool is closed. */
    public void keepFilesAtExit() {
        factory.keepAtExit();
    }

    /**
     * Ends the use of the pool and leaves its files, which others read on. Memory stays mapped; a later {@link #close}
     * does nothing.
     */
    public void leave() {
        retire();
        lock.lock();
        try {
            if (!closed) {
                closed = true;
                factory.leave();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Returns the number of the pool's files that other programs have removed, as far as detected. */
    public long removedFiles() {
        return factory.removedFiles();
    }

    /**
     * Refuses further leases, as if the pool were full. Peers may continue to read memory that is released later,
     * because it is never leased again. After the return no region is registered or removed.
     */
    public void retire() {
        lock.lock();
        try {
            retired = true;
            waiting.wakeAll();
            WorkEnd.await(growthEnded, growth::isUnderWay);
            shrinking.stop();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Removes the files and unmaps regions without leases. Idempotent.
     *
     * @throws IllegalStateException if leases are open; the message has the bytes per purpose
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
            WorkEnd.await(growthEnded, growth::isUnderWay);
            shrinking.stop();
            left = regions.usage(regions.capacityBytes());
            factory.close();
            regions.close();
        } finally {
            lock.unlock();
        }
        if (left.leases() > 0) {
            throw new IllegalStateException("pool closed while " + left.leases() + " leases are out, bytes by purpose "
                    + left.usedByPurpose() + "; their regions stay mapped until they are returned");
        }
    }

    /** Passes free bytes of an area to those who wait; none settles for less while the pool may grow. */
    private void serveFrom(Region region, Area area) {
        if (!retired) {
            boolean settle = !growth.isUnderWay() && !growth.mayBegin(nextRegionBytes());
            waiting.serve(
                    request -> regions.takeFrom(region, area, request, settle ? request.least() : request.wanted()));
        }
    }

    private long nextRegionBytes() {
        return factory.nextBytes(regions.capacityBytes());
    }

    /**
     * Grows the pool unless it does or may not; returns whether it does.
     *
     * @param wanted bytes of the lease that does not fit
     */
    private boolean beginGrowth(long wanted) {
        long preferred = Math.max(
                Math.max(LEAST_GROWTH_BYTES, PARTS_OF_GROWTH * Math.min(wanted, nextRegionBytes())),
                regions.capacityBytes());
        long bytes = Math.min(preferred, nextRegionBytes());
        if (growth.mayBegin(bytes) && !growth.begin(bytes, () -> grow(bytes))) {
            reportShortage(
                    "Cannot start a thread to grow the pool: it stays at {}, as the limit of threads is reached"
                            + " (pids.max, ulimit -u, spark.shuffle.rdma.pool.initialSize); map outputs that do not fit"
                            + " go to disk",
                    Quantities.mebibytes(regions.capacityBytes()));
        }
        return growth.isUnderWay();
    }

    private void grow(long bytes) {
        Region added = null;
        try {
            added = addRegion(bytes, bytes / LEAST_PART);
        } catch (RuntimeException e) {
            // The file system is full, a device refuses the registration, or the pool was closed meanwhile.
            reportShortage(
                    "Cannot grow the pool: it stays at {} (spark.shuffle.rdma.pool.maxSize is {}); map outputs that do"
                            + " not fit go to disk",
                    Quantities.mebibytes(regions.capacityBytes()),
                    Quantities.mebibytes(settings.capBytes()),
                    e);
        } finally {
            lock.lock();
            try {
                if (added == null) {
                    growth.fail();
                } else {
                    growth.succeed();
                    for (Area area : regions.areasOf(added)) {
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

    /** Logs the first shortage of memory for map outputs at WARN, later ones at DEBUG. */
    private void reportShortage(String format, Object... arguments) {
        if (shortageReported.compareAndSet(false, true)) {
            LOG.warn(format, arguments);
        } else {
            LOG.debug(format, arguments);
        }
    }

    /**
     * Creates the next region. Called by the constructing thread or by the one that grows the pool.
     *
     * @param most maximum of useful bytes, rounded up to pages
     * @param least see {@link RegionFactory#create}
     */
    private Region addRegion(long most, long least) {
        final int id;
        final long length;
        lock.lock();
        try {
            id = regions.nextId();
            long pages = (most + factory.pageBytes() - 1) / factory.pageBytes();
            length = Math.min(nextRegionBytes(), pages * factory.pageBytes());
        } finally {
            lock.unlock();
        }
        Region region = factory.create(id, length, Math.min(least, length));
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

    /** Owner of open leases. */
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
