// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.stage;

import io.rdmashuffle.fabric.InFlightLimit;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.connect.StagingService;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.FileSlice;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Staging of ranges of this process's disk tier in leases of its pool, for READs of peers.
 *
 * <p>Ranges are untrusted: only leased ranges of the tier are read. Staging memory is bounded in total and per request;
 * with less memory than requested the first bytes are staged, and with none the peer retries.
 *
 * <p><b>Threading:</b> {@link #run} is called by the staging thread, the only one that reads the disk; the rest by any.
 *
 * <p><b>Ownership:</b> leases belong to the listener, which releases them here.
 */
public final class DiskStaging implements StagingService, Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(DiskStaging.class);

    /** Questions of all peers that wait: each is up to 1 MiB, which a slow disk reads in 10 ms. */
    private static final int MAX_WAITING = 256;

    /** Fewer bytes than this are not worth a question, unless there are no more: a page. */
    private static final long MIN_PIECE_BYTES = 4 << 10;

    private static final long TICK_MILLIS = 1_000;

    private final Duration readWithin;
    private final long maxBytes;
    private final InFlightLimit limit;
    private final BlockingQueue<Job> waiting = new ArrayBlockingQueue<>(MAX_WAITING);
    private final AtomicBoolean warned = new AtomicBoolean();
    private volatile @Nullable TieredPool pool;
    private volatile boolean closing;

    /** A question under way. */
    private record Job(List<RemoteSlice> ranges, Listener listener) {}

    /**
     * Creates a service that is idle until it has a pool.
     *
     * @param maxBytes limit of staged bytes for all peers together
     * @param readWithin time in which peers may read staged bytes
     */
    public DiskStaging(long maxBytes, Duration readWithin) {
        this.maxBytes = maxBytes;
        this.limit = new InFlightLimit(maxBytes);
        this.readWithin = readWithin;
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
    public boolean stage(List<RemoteSlice> ranges, Listener listener) {
        return !closing && waiting.offer(new Job(ranges, listener));
    }

    @Override
    public void giveBack(Lease staged) {
        long bytes = staged.lengthBytes();
        staged.close();
        limit.release(bytes);
    }

    /** Ends {@link #run}; what still waits is refused. For any thread. */
    public void stop() {
        closing = true;
        boolean unused = waiting.offer(new Job(List.of(), outcome -> {}));
    }

    /** Stages one question after another until {@link #stop}. */
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
        for (Job late = waiting.poll(); late != null; late = waiting.poll()) {
            late.listener().staged(Outcome.refusal(Status.NO_ROOM));
        }
    }

    private void serve(Job job) {
        Outcome outcome = Outcome.refusal(Status.UNREADABLE);
        try {
            outcome = read(job.ranges());
        } catch (InterruptedException e) {
            LOG.debug("Staging thread interrupted; the peer asks again", e);
            outcome = Outcome.refusal(Status.NO_ROOM);
        } catch (RuntimeException | Error e) {
            LOG.error("Could not stage blocks for a peer", e);
        } finally {
            job.listener().staged(outcome);
        }
    }

    private Outcome read(List<RemoteSlice> ranges) throws InterruptedException {
        TieredPool from = pool;
        List<FileSlice> files = from == null ? List.of() : leased(from.disk(), ranges);
        if (from == null || files.isEmpty()) {
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

    /** Returns the files' parts up to the first range that is not in the tier. */
    private static List<FileSlice> leased(@Nullable DiskTier tier, List<RemoteSlice> ranges) {
        List<FileSlice> files = new ArrayList<>(ranges.size());
        for (RemoteSlice range : ranges) {
            FileSlice file = tier == null ? null : tier.leased(range.regionId(), range.offset(), range.lengthBytes());
            if (file == null) {
                return files;
            }
            files.add(file);
        }
        return files;
    }

    /** Leases the requested bytes, or fewer; null if there is no room. */
    private @Nullable Lease reserve(TieredPool from, long wanted) throws InterruptedException {
        if (!limit.tryAcquire(wanted)) {
            return null;
        }
        Lease lease = null;
        try {
            lease = from.memory().reserve(Purpose.STAGING, Math.min(wanted, MIN_PIECE_BYTES), wanted, WaitPolicy.NONE);
            return lease;
        } finally {
            limit.adjust(wanted, lease == null ? 0 : lease.lengthBytes());
        }
    }

    /** Copies as much as the lease has room for, up to the first range that cannot be read; returns how much. */
    private long copy(List<FileSlice> files, Lease lease, long wanted) {
        long target = lease.memory().address();
        long room = Math.min(wanted, lease.lengthBytes());
        long done = 0;
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
