// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
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
 * Read-ahead of a reduce task's batches, in the order of consumption, within the task's limit of bytes in flight. The
 * one place where a task leases memory for bytes of peers, posts their reads and waits.
 *
 * <p>A failed batch does not fail the task: Spark's block transfer fetches its blocks. The path of a failed batch is
 * abandoned, so that a dead peer costs a task one timeout, however many batches it has.
 *
 * <p><b>Threading:</b> thread-safe: a task may be killed, or end while a thread of it reads, as that of {@code
 * RDD.pipe} does. {@link #cancel} waits for nothing, and interrupts a thread that waits here for a lookup, a lease or
 * bytes.
 *
 * <p><b>Ownership:</b> owns the leases of its batches. A batch's lease is released when the next batch is awaited.
 */
final class FetchWindow implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FetchWindow.class);

    private final PeerPaths paths;
    private final ReceiveLeases leases;
    private final Duration timeout;
    private final long windowBytes;
    private final ShuffleCounters counters;
    private final LongConsumer waitedMillis;
    private final Deque<FetchBatch> queued = new ArrayDeque<>();
    private final Queue<FetchBatch> started = new ConcurrentLinkedQueue<>();
    private final Set<String> broken = new HashSet<>();
    /** The batch that the fabric had no room in flight for when it was started. */
    private @Nullable FetchBatch waiting;

    private long turns;
    private long awaited = -1;
    /** The first turn whose batch has not been counted as arrived. */
    private long uncounted;

    private long windowUsed;
    private long unreportedNanos;
    private volatile boolean cancelled;

    /** Guards {@link #inside}, so that only a thread that is here is interrupted. */
    private final Object gate = new Object();

    private @Nullable Thread inside;
    /** Calls that the thread inside is in, one within the other. */
    private int depth;
    /** Whether {@link #cancel} has interrupted the thread inside, which must not leave with that interrupt. */
    private boolean interrupted;

    /**
     * Creates an empty window.
     *
     * @param timeout of a read
     * @param windowBytes bytes in flight or not consumed yet; of larger batches one is read ahead
     * @param counters count batches that have arrived
     * @param waitedMillis receives the time that the task waited for lookups, memory and bytes
     */
    FetchWindow(
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

    /**
     * Looks up what the task will read, on the calling thread, before anything is read. Throws, undeclared, an {@link
     * IOException} if the task has ended.
     */
    void lookUp(Runnable lookup) {
        enter();
        long before = System.nanoTime();
        try {
            lookup.run();
        } finally {
            report(System.nanoTime() - before);
            leave();
        }
        if (cancelled) {
            throw Unchecked.raise(ended());
        }
    }

    /** Queues batches behind earlier ones, and starts what may be started. */
    synchronized void addAll(List<FetchBatch> batches) {
        enter();
        try {
            for (FetchBatch batch : batches) {
                batch.turn(turns++);
                queued.add(batch);
            }
            start();
        } finally {
            leave();
        }
    }

    private void enter() {
        synchronized (gate) {
            inside = Thread.currentThread();
            depth++;
        }
    }

    private void leave() {
        synchronized (gate) {
            depth--;
            if (depth == 0) {
                inside = null;
                if (interrupted) {
                    interrupted = false;
                    // Spark has not interrupted the task: its clean-up may write files, which an interrupt would close.
                    boolean unused = Thread.interrupted();
                }
            }
        }
    }

    /**
     * Waits for the bytes of a batch, which stay there until another batch is awaited. Throws, undeclared, an {@link
     * IOException} if the task has ended.
     *
     * @return null if the read failed
     */
    @Nullable
    synchronized MemorySlice await(FetchBatch batch) {
        enter();
        try {
            return awaitInside(batch);
        } finally {
            leave();
        }
    }

    private @Nullable MemorySlice awaitInside(FetchBatch batch) {
        releaseBefore(batch);
        boolean isNext = batch.turn() != awaited;
        if (!isNext && batch.arrival().isDone()) {
            return arrived(batch);
        }
        long before = System.nanoTime();
        try {
            if (isNext) {
                awaited = batch.turn();
                start();
            }
            awaitArrival(batch);
            if (isNext) {
                // It may be larger than the window, which has room for another one now.
                start();
            }
        } catch (InterruptedException e) {
            throw interrupted(e);
        } finally {
            report(System.nanoTime() - before);
        }
        return arrived(batch);
    }

    private void awaitArrival(FetchBatch batch) throws InterruptedException {
        if (cancelled || batch.arrival().isDone()) {
            return;
        }
        try {
            // The fabric ends it at its deadline; this is in case that it does not.
            batch.arrival().get(2 * timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            LOG.trace("A batch did not arrive", e);
        } catch (TimeoutException e) {
            fail(batch, Reason.TIMED_OUT, "no completion within " + Quantities.duration(timeout));
        }
    }

    /** Throws for an interrupted thread, undeclared: the end of its task, or the interrupt itself. */
    private RuntimeException interrupted(InterruptedException e) {
        throw Unchecked.raise(cancelled ? ended() : e);
    }

    private static IOException ended() {
        return new IOException("the task that read these blocks has ended or was killed");
    }

    private @Nullable MemorySlice arrived(FetchBatch batch) {
        if (cancelled) {
            throw Unchecked.raise(ended());
        }
        try {
            MemorySlice bytes = batch.arrival().join().memory();
            if (batch.turn() >= uncounted) {
                uncounted = batch.turn() + 1;
                counters.add(ShuffleCounter.FETCH_BATCHES, 1);
                counters.add(ShuffleCounter.FETCH_BATCH_BYTES, batch.lengthBytes());
                counters.add(ShuffleCounter.DISK_READ_BYTES, batch.bytesOnDisk());
            }
            return bytes;
        } catch (CompletionException e) {
            if (e.getCause() instanceof ReadFailedException failure) {
                abandon(batch.path(), failure);
            }
            return null;
        }
    }

    private void abandon(PeerPath path, ReadFailedException failure) {
        if (failure.reason().concernsPath() && !broken.add(path.executorId())) {
            return;
        }
        paths.failed(path, failure);
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
        while (!cancelled && (waiting == null || waiting.arrival().isDone())) {
            waiting = null;
            FetchBatch next = queued.peek();
            if (next == null || !fits(next)) {
                return;
            }
            ReadFailedException obstacle = obstacle(next);
            if (obstacle != null) {
                drop(next, obstacle);
                continue;
            }
            Lease target = reserve(next.lengthBytes());
            if (target == null) {
                // Later batches wait for memory until they are needed: tasks release theirs all the time.
                if (windowUsed > 0 || next.turn() > awaited) {
                    return;
                }
                drop(
                        next,
                        new ReadFailedException(
                                Reason.NO_ROOM, "no receive lease of " + next.lengthBytes() + " bytes in the pool"));
            } else {
                waiting = read(next, target) ? null : next;
                queued.remove();
                started.add(next);
                windowUsed += next.lengthBytes();
                if (cancelled) {
                    fail(next, Reason.CLOSED, "the task has ended");
                }
            }
        }
    }

    /** Returns whether the window has room for a batch: one of any length beside the one that is being consumed. */
    private boolean fits(FetchBatch batch) {
        FetchBatch first = started.peek();
        return first == null
                || windowUsed + batch.lengthBytes() <= windowBytes
                || (started.size() == 1 && first.arrival().isDone());
    }

    /** Returns the known reason why a batch cannot be read; null if there is none. */
    private @Nullable ReadFailedException obstacle(FetchBatch batch) {
        String executorId = batch.path().executorId();
        if (broken.contains(executorId)) {
            return new ReadFailedException(Reason.CLOSED, "an earlier read from executor " + executorId + " failed");
        }
        try {
            return batch.refresh()
                    ? null
                    : new ReadFailedException(
                            Reason.UNREADABLE, "map outputs of executor " + executorId + " were removed or changed");
        } catch (ReadFailedException e) {
            abandon(batch.path(), e);
            if (e.reason() == Reason.NO_ROOM) {
                // The next one would wait as long.
                broken.add(executorId);
            }
            return e;
        } catch (IOException e) {
            return new ReadFailedException(
                    Reason.UNREADABLE, "cannot locate the map outputs of executor " + executorId, e);
        }
    }

    /** Waits for memory only if no read in flight will bring the task on meanwhile. */
    private @Nullable Lease reserve(long bytes) {
        try {
            return windowUsed > 0 ? leases.tryReserve(bytes) : leases.reserve(bytes);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private boolean read(FetchBatch batch, Lease target) {
        try {
            return batch.path().peer().read(batch.into(target, System.nanoTime() + timeout.toNanos()));
        } catch (RuntimeException | Error failure) {
            target.close();
            throw failure;
        }
    }

    /** Fails a batch that has not been started. */
    private void drop(FetchBatch batch, ReadFailedException failure) {
        queued.remove(batch);
        batch.arrival().completeExceptionally(failure);
    }

    private static void fail(FetchBatch batch, Reason reason, String message) {
        batch.arrival().completeExceptionally(new ReadFailedException(reason, message));
    }

    /** Releases the batches before this one, whose blocks have been consumed or never will be. */
    private void releaseBefore(FetchBatch batch) {
        for (FetchBatch first = started.peek(); first != null && first.turn() < batch.turn(); first = started.peek()) {
            started.remove();
            release(first);
        }
    }

    private void release(FetchBatch batch) {
        windowUsed -= batch.lengthBytes();
        if (!batch.arrival().cancel(false) && !batch.arrival().isCompletedExceptionally()) {
            batch.arrival().join().close();
        }
    }

    /** Wakes a thread that waits, which fails; no further batch is started. */
    void cancel() {
        cancelled = true;
        started.forEach(batch -> fail(batch, Reason.CLOSED, "the task has ended"));
        synchronized (gate) {
            if (inside != null && !inside.equals(Thread.currentThread())) {
                interrupted = true;
                inside.interrupt();
            }
        }
    }

    /** Releases all leases, those of reads in flight when these end. Idempotent. */
    @Override
    public void close() {
        cancel();
        synchronized (this) {
            queued.clear();
            for (FetchBatch batch = started.poll(); batch != null; batch = started.poll()) {
                release(batch);
            }
        }
    }
}
