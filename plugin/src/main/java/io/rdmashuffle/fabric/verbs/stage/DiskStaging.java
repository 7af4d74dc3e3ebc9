// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.stage;

import io.rdmashuffle.fabric.InFlightLimit;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.connect.StagingService;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.FileSlice;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Staging of ranges of this process's disk tier, and of those of ended processes that it serves, in leases of its pool,
 * for READs of peers.
 *
 * <p>Ranges are untrusted: only leased ranges of this process's tier are read. Staging memory is bounded in total and
 * per request; with less memory than requested the first bytes are staged. With none, the next request of a directory
 * waits for up to a thirtieth of the time that peers have; then its peer retries. One thread reads each directory,
 * so a slow disk does not delay requests that begin on another one.
 *
 * <p><b>Threading:</b> thread-safe. A directory is read by its thread only.
 *
 * <p><b>Ownership:</b> leases belong to the listener, which releases them here. The creator waits for the threads.
 */
public final class DiskStaging implements StagingService {
    private static final Logger LOG = LoggerFactory.getLogger(DiskStaging.class);

    /** Part of the time that peers have for which a request waits for memory. */
    private static final int ROOM_SHARE = 30;

    /** Fewer bytes than this are not worth a question, unless there are no more: a page. */
    private static final long MIN_PIECE_BYTES = 4 << 10;

    private static final long TICK_MILLIS = 1_000;

    private final Duration readWithin;
    private final long maxBytes;
    private final int maxWaiting;
    private final InFlightLimit limit;
    private final BiConsumer<String, Runnable> threads;
    private final Object released = new Object();
    private final AtomicBoolean warned = new AtomicBoolean();
    private final AtomicBoolean threadWarned = new AtomicBoolean();
    /** By the number of its directory. Guarded by this. */
    private final Map<Integer, Reader> readers = new HashMap<>();

    private volatile @Nullable TieredPool pool;
    private volatile boolean closing;
    /** Leases that have been released; guarded by {@link #released}. */
    private long releases;

    /** A request under way. */
    private record Job(@Nullable EndedPool inherited, List<RemoteSlice> ranges, Listener listener, long askedNanos) {}

    /**
     * Creates a service that is idle until it has a pool.
     *
     * @param maxBytes limit of staged bytes for all peers together
     * @param maxWaiting limit of requests that wait for the same directory: as many as all connections may have
     * @param readWithin time in which peers may read staged bytes
     * @param threads starts a thread of a name
     */
    public DiskStaging(long maxBytes, int maxWaiting, Duration readWithin, BiConsumer<String, Runnable> threads) {
        this.maxBytes = maxBytes;
        this.maxWaiting = maxWaiting;
        this.limit = new InFlightLimit(maxBytes);
        this.readWithin = readWithin;
        this.threads = threads;
    }

    /** Stages ranges of this pool's disk tier in its memory, from now on. */
    public void serve(TieredPool served) {
        pool = served;
    }

    /** Returns the bytes that are staged now. */
    public long stagedBytes() {
        return limit.inFlightBytes();
    }

    @Override
    public Duration readWithin() {
        return readWithin;
    }

    @Override
    public boolean stage(@Nullable EndedPool inherited, List<RemoteSlice> ranges, Listener listener) {
        TieredPool from = pool;
        DiskTier tier = from == null ? null : from.disk();
        int directory = tier == null ? 0 : tier.directoryOf(ranges.get(0).regionId());
        Reader reader = reader(directory);
        return reader != null && reader.offer(new Job(inherited, ranges, listener, System.nanoTime()));
    }

    /** Returns the reader of a directory, starting it if there is none; null at the end, or if no thread can start. */
    private synchronized @Nullable Reader reader(int directory) {
        Reader known = readers.get(directory);
        if (known == null && !closing) {
            known = new Reader();
            try {
                threads.accept("rdma-staging-" + directory, known);
            } catch (OutOfMemoryError e) {
                // Thrown at the limit of threads; the control thread, which called, must live.
                reportNoThread(e);
                return null;
            }
            readers.put(directory, known);
        }
        return known;
    }

    private void reportNoThread(OutOfMemoryError cause) {
        if (threadWarned.compareAndSet(false, true)) {
            LOG.warn(
                    "Cannot start a thread to stage blocks on disk for peers, which fetch them over Netty until one can"
                            + " be started; from now on without a warning",
                    cause);
        } else {
            LOG.debug("Cannot start a thread to stage blocks", cause);
        }
    }

    @Override
    public void giveBack(Lease staged) {
        long bytes = staged.lengthBytes();
        staged.close();
        limit.release(bytes);
        synchronized (released) {
            releases++;
            released.notifyAll();
        }
    }

    /**
     * Refuses all waiting and further requests; returns the bodies of the threads, which end. For any thread.
     */
    public List<Runnable> stop() {
        List<Reader> all;
        synchronized (this) {
            closing = true;
            all = List.copyOf(readers.values());
        }
        synchronized (released) {
            released.notifyAll();
        }
        all.forEach(Reader::wake);
        return List.copyOf(all);
    }

    /**
     * The requests that begin in one directory, one after another.
     *
     * <p><b>Threading:</b> {@link #run} is its thread's, the rest is for any.
     */
    private final class Reader implements Runnable {
        private final BlockingQueue<Job> waiting = new LinkedBlockingQueue<>(maxWaiting);

        /** Adds a request, unless there are too many. */
        boolean offer(Job job) {
            // Under the lock, so that nothing is added after the thread has refused the last one.
            synchronized (waiting) {
                return !closing && waiting.offer(job);
            }
        }

        /** Lets the thread see that it must end. */
        void wake() {
            boolean unused = waiting.offer(new Job(null, List.of(), outcome -> {}, System.nanoTime()));
        }

        @Override
        public void run() {
            while (!closing) {
                try {
                    Job next = waiting.poll(TICK_MILLIS, TimeUnit.MILLISECONDS);
                    if (next != null) {
                        serve(next);
                    }
                } catch (InterruptedException e) {
                    LOG.debug("Staging thread interrupted; only stop() ends it", e);
                }
            }
            synchronized (waiting) {
                for (Job late = waiting.poll(); late != null; late = waiting.poll()) {
                    late.listener().staged(Outcome.refusal(Status.NO_ROOM));
                }
            }
        }
    }

    private void serve(Job job) {
        Outcome outcome = Outcome.refusal(Status.UNREADABLE);
        try {
            boolean isLate = System.nanoTime() - job.askedNanos() >= readWithin.toNanos();
            // A peer that has waited that long has given up.
            outcome = isLate || closing ? Outcome.refusal(Status.NO_ROOM) : read(job);
        } catch (InterruptedException e) {
            LOG.debug("Staging thread interrupted; the peer asks again", e);
            outcome = Outcome.refusal(Status.NO_ROOM);
        } catch (RuntimeException | Error e) {
            LOG.error("Could not stage blocks for a peer", e);
        } finally {
            job.listener().staged(outcome);
        }
    }

    private Outcome read(Job job) throws InterruptedException {
        TieredPool own = pool;
        EndedPool inherited = job.inherited();
        if (own == null) {
            return Outcome.refusal(Status.UNKNOWN);
        }
        if (inherited == null) {
            DiskTier tier = own.disk();
            return tier == null ? Outcome.refusal(Status.UNKNOWN) : read(own, files(tier::leased, job.ranges()));
        }
        if (!inherited.retain()) {
            return Outcome.refusal(Status.UNKNOWN);
        }
        try {
            return read(own, files(inherited::onDisk, job.ranges()));
        } finally {
            inherited.release();
        }
    }

    private Outcome read(TieredPool from, List<FileSlice> files) throws InterruptedException {
        if (files.isEmpty()) {
            return Outcome.refusal(Status.UNKNOWN);
        }
        long wanted = Math.min(
                files.stream().mapToLong(FileSlice::lengthBytes).sum(), Math.max(maxBytes / 2, MIN_PIECE_BYTES));
        Lease lease = reserve(from, wanted);
        if (lease == null) {
            return Outcome.refusal(Status.NO_ROOM);
        }
        long done = 0;
        try {
            done = copy(files, lease, wanted);
        } finally {
            if (done == 0) {
                giveBack(lease);
            }
        }
        return done == 0 ? Outcome.refusal(Status.UNREADABLE) : new Outcome(Status.OK, lease, Math.toIntExact(done));
    }

    /** Part of a file of a disk tier; null if it may not be read. */
    @FunctionalInterface
    private interface DiskFiles {
        @Nullable
        FileSlice part(int regionId, long offset, long lengthBytes);
    }

    /** Returns the files' parts up to the first range that is not in the tier. */
    private static List<FileSlice> files(DiskFiles tier, List<RemoteSlice> ranges) {
        List<FileSlice> files = new ArrayList<>(ranges.size());
        for (RemoteSlice range : ranges) {
            FileSlice file = tier.part(range.regionId(), range.offset(), range.lengthBytes());
            if (file == null) {
                return files;
            }
            files.add(file);
        }
        return files;
    }

    /** Leases the requested bytes, or fewer; waits for peers to release theirs. Null if there is no room. */
    private @Nullable Lease reserve(TieredPool from, long wanted) throws InterruptedException {
        long deadline = System.nanoTime() + readWithin.toNanos() / ROOM_SHARE;
        while (true) {
            long before = releases();
            Lease lease = tryReserve(from, wanted);
            if (lease != null || !awaitRelease(before, deadline)) {
                return lease;
            }
        }
    }

    private @Nullable Lease tryReserve(TieredPool from, long wanted) throws InterruptedException {
        // One at a time: what an attempt takes of the limit and puts back would have others wait for nothing.
        synchronized (released) {
            if (!limit.tryAcquire(wanted)) {
                return null;
            }
            Lease lease = null;
            try {
                lease = from.memory()
                        .reserve(Purpose.STAGING, Math.min(wanted, MIN_PIECE_BYTES), wanted, WaitPolicy.NONE);
                return lease;
            } finally {
                limit.adjust(wanted, lease == null ? 0 : lease.lengthBytes());
            }
        }
    }

    private long releases() {
        synchronized (released) {
            return releases;
        }
    }

    /** Waits for another release than those before; returns false at the deadline, and at the end. */
    private boolean awaitRelease(long before, long deadline) throws InterruptedException {
        synchronized (released) {
            while (releases == before) {
                long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                if (closing || left <= 0) {
                    return false;
                }
                released.wait(left);
            }
            return !closing;
        }
    }

    /** Copies as much as the lease has room for, up to the first range that cannot be read; returns how much. */
    private long copy(List<FileSlice> files, Lease lease, long wanted) {
        long target = lease.memory().address();
        long room = Math.min(wanted, lease.lengthBytes());
        long done = 0;
        if (files.size() > 1) {
            files.forEach(FileSlice::readAhead);
        }
        for (FileSlice file : files) {
            long bytes = Math.min(file.lengthBytes(), room - done);
            if (bytes == 0) {
                break;
            }
            try {
                // The lease is open until after this.
                file.slice(0, bytes).copyToAddress(target + done);
            } catch (IOException e) {
                report(file, e);
                break;
            }
            done += bytes;
        }
        return done;
    }

    private void report(FileSlice file, IOException cause) {
        if (warned.compareAndSet(false, true)) {
            LOG.warn(
                    "Cannot read {} for a peer, which fetches the block over Netty; from now on without"
                            + " a warning (spark.local.dir)",
                    file.path(),
                    cause);
        } else {
            LOG.debug("Cannot read {} for a peer", file.path(), cause);
        }
    }
}
