// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.fabric.ReadBatch;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.Unchecked;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import io.rdmashuffle.text.Quantities;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the slabs of one reduce task ahead of it, in the order in which it will want them, no more at once than a task
 * may have in flight.
 *
 * <p>A slab that does not come is no failure of the task: Spark's fetch brings its blocks. A path on which one failed
 * is given up, so that a dead peer costs a task one deadline, however many slabs it was to bring.
 *
 * <p><b>Threading:</b> one thread at a time; {@link #cancel} any.
 *
 * <p><b>Ownership:</b> owns the leases of its slabs. A slab's is given back when the next one is awaited.
 */
final class SlabReads implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SlabReads.class);
    /** Between two attempts at a fabric that has no room in flight. */
    private static final long RETRY_MILLIS = 1;

    private final PeerPaths paths;
    private final ReceiveLeases leases;
    private final Duration timeout;
    private final long windowBytes;
    private final ShuffleCounters counters;
    private final LongConsumer waitedMillis;
    private final Deque<Slab> queued = new ArrayDeque<>();
    private final Queue<Slab> started = new ConcurrentLinkedQueue<>();
    private final Set<String> broken = new HashSet<>();
    private long turns;
    /** The first turn whose slab has not been counted as arrived. */
    private long uncounted;

    private long windowUsed;
    private long unreportedNanos;
    private volatile boolean cancelled;

    /**
     * Begins without a slab.
     *
     * @param timeout of a read
     * @param windowBytes how many bytes may be under way or wait to be used at once; a slab that is larger goes alone
     * @param counters count slabs that have come
     * @param waitedMillis is told how long the task waited
     */
    SlabReads(
            PeerPaths paths,
            ReceiveLeases leases,
            Duration timeout,
            long windowBytes,
            ShuffleCounters counters,
            LongConsumer waitedMillis) {
        this.paths = paths;
        this.leases = leases;
        this.timeout = timeout;
        this.windowBytes = windowBytes;
        this.counters = counters;
        this.waitedMillis = waitedMillis;
    }

    /** Has a slab read after those that were added before, and starts what may be started. */
    void addAll(List<Slab> slabs) {
        for (Slab slab : slabs) {
            slab.turn(turns++);
            queued.add(slab);
        }
        start();
    }

    /**
     * Returns the bytes of a slab, waiting for them if they are still under way. They stay there until another slab is
     * awaited. Throws, undeclared, an {@link IOException} if the task has ended.
     *
     * @return null if they did not come
     */
    @Nullable
    MemorySlice await(Slab slab) {
        giveBackBefore(slab);
        start();
        if (!slab.arrival().isDone()) {
            long before = System.nanoTime();
            try {
                await(slab, before + timeout.toNanos());
            } catch (InterruptedException e) {
                throw Unchecked.raise(e);
            } finally {
                report(System.nanoTime() - before);
            }
        }
        return arrived(slab);
    }

    private void await(Slab slab, long deadline) throws InterruptedException {
        while (slab.isQueued() && !cancelled) {
            if (System.nanoTime() - deadline >= 0) {
                queued.remove(slab);
                fail(slab, Reason.NO_ROOM, "no room in flight for " + Quantities.duration(timeout));
                return;
            }
            Thread.sleep(RETRY_MILLIS);
            start();
        }
        try {
            // The fabric ends it at its deadline; this is in case that it does not.
            slab.arrival().get(2 * timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            // Seen below.
            LOG.trace("A slab did not arrive", e);
        } catch (TimeoutException e) {
            fail(slab, Reason.TIMED_OUT, "no completion within " + Quantities.duration(timeout));
        }
    }

    private @Nullable MemorySlice arrived(Slab slab) {
        if (cancelled) {
            throw Unchecked.raise(new IOException("the task that read these blocks has ended"));
        }
        try {
            MemorySlice bytes = slab.arrival().join().memory();
            if (slab.turn() >= uncounted) {
                uncounted = slab.turn() + 1;
                counters.add(ShuffleCounter.SLABS, 1);
                counters.add(ShuffleCounter.SLAB_BYTES, slab.lengthBytes());
                counters.add(ShuffleCounter.DISK_READ_BYTES, slab.bytesOnDisk());
            }
            return bytes;
        } catch (CompletionException e) {
            if (e.getCause() instanceof ReadFailedException failure) {
                giveUp(slab.path(), failure);
            }
            return null;
        }
    }

    private void giveUp(PeerPath path, ReadFailedException failure) {
        boolean isFirst = failure.reason().concernsPath() && broken.add(path.executorId());
        if (isFirst && failure.reason().isFaultOfPath()) {
            paths.failed(path, failure);
        } else {
            LOG.debug("Blocks of executor {} come over Spark's block transfer", path.executorId(), failure);
        }
    }

    private void report(long nanos) {
        unreportedNanos += nanos;
        long millis = TimeUnit.NANOSECONDS.toMillis(unreportedNanos);
        if (millis > 0) {
            unreportedNanos -= TimeUnit.MILLISECONDS.toNanos(millis);
            waitedMillis.accept(millis);
        }
    }

    /** Starts what the window, the pool and the fabric have room for. */
    private void start() {
        while (!cancelled) {
            Slab next = queued.peek();
            if (next == null || (windowUsed > 0 && windowUsed + next.lengthBytes() > windowBytes)) {
                return;
            }
            ReadFailedException obstacle = obstacle(next);
            if (obstacle != null) {
                queued.remove();
                next.arrival().completeExceptionally(obstacle);
                continue;
            }
            Lease target = reserve(next.lengthBytes());
            if (target == null) {
                if (windowUsed > 0) {
                    return;
                }
                queued.remove();
                fail(next, Reason.NO_ROOM, "no receive lease of " + next.lengthBytes() + " bytes in the pool");
            } else if (read(next, target)) {
                queued.remove();
                next.started();
                started.add(next);
                windowUsed += next.lengthBytes();
                if (cancelled) {
                    fail(next, Reason.CLOSED, "the task has ended");
                }
            } else {
                target.close();
                return;
            }
        }
    }

    /** Returns why a slab cannot be read, if that is known. */
    private @Nullable ReadFailedException obstacle(Slab slab) {
        String executorId = slab.path().executorId();
        if (broken.contains(executorId)) {
            return new ReadFailedException(Reason.CLOSED, "an earlier read from executor " + executorId + " failed");
        }
        try {
            return slab.isCurrent()
                    ? null
                    : new ReadFailedException(Reason.UNREADABLE, "map outputs of executor " + executorId + " moved");
        } catch (ReadFailedException e) {
            return e;
        } catch (IOException e) {
            return new ReadFailedException(
                    Reason.UNREADABLE, "cannot tell where map outputs of executor " + executorId + " are", e);
        }
    }

    /** Waits for room only if nothing that is under way will bring the task on meanwhile. */
    private @Nullable Lease reserve(long bytes) {
        try {
            return windowUsed > 0 ? leases.tryReserve(bytes) : leases.reserve(bytes);
        } catch (InterruptedException e) {
            throw Unchecked.raise(e);
        }
    }

    private boolean read(Slab slab, Lease target) {
        ReadBatch batch =
                new ReadBatch(List.of(slab.into(target)), System.nanoTime() + timeout.toNanos(), slab.listener());
        try {
            return slab.path().peer().read(batch);
        } catch (RuntimeException | Error failure) {
            target.close();
            throw failure;
        }
    }

    private static void fail(Slab slab, Reason reason, String message) {
        slab.arrival().completeExceptionally(new ReadFailedException(reason, message));
    }

    /** Gives back the slabs before this one, whose blocks have been used or never will be. */
    private void giveBackBefore(Slab slab) {
        for (Slab first = started.peek(); first != null && first.turn() < slab.turn(); first = started.peek()) {
            started.remove();
            giveBack(first);
        }
    }

    private void giveBack(Slab slab) {
        windowUsed -= slab.lengthBytes();
        if (!slab.arrival().cancel(false) && !slab.arrival().isCompletedExceptionally()) {
            slab.arrival().join().close();
        }
    }

    /** Wakes a thread that waits, and has it fail; no further slab is started. */
    void cancel() {
        cancelled = true;
        started.forEach(slab -> fail(slab, Reason.CLOSED, "the task has ended"));
    }

    /** Gives back all leases; those of reads that are under way are given back when these end. Idempotent. */
    @Override
    public void close() {
        cancelled = true;
        queued.clear();
        for (Slab slab = started.poll(); slab != null; slab = started.poll()) {
            giveBack(slab);
        }
    }
}
