// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Admission and completion of the reads of a fabric: bounds their bytes, counts them, and completes each exactly once.
 *
 * <p>A short read counts as {@value #MIN_COST_BYTES} bytes, so that a bound on bytes bounds the number of reads too.
 * Longer reads beyond the bound wait, and are admitted in their order as others end. How many wait is their callers'
 * to bound: each holds the lease of its target meanwhile.
 *
 * <p><b>Threading:</b> thread-safe, lock-free.
 */
public final class InFlightReads {
    private static final Logger LOG = LoggerFactory.getLogger(InFlightReads.class);
    private static final long MIN_COST_BYTES = 512;

    private static final long MAX_SHORT_BYTES = 64 << 10;

    private final InFlightLimit limit;
    private final ReadMeter meter = new ReadMeter();
    private final Queue<Waiting> waiting = new ConcurrentLinkedQueue<>();

    /** Number of calls of {@link #admitWaiting} that the thread in it has not yet answered. */
    private final AtomicInteger wakes = new AtomicInteger();

    /** Starter of admitted reads. */
    @FunctionalInterface
    public interface Starter {
        /** Starts a read, or fails it; must be quick. On the caller's thread, or on one that ends another read. */
        void start(ReadRequest request);
    }

    /**
     * A read that waits for room.
     *
     * @param untilNanos {@link System#nanoTime()} after which it is not started any more
     */
    private record Waiting(ReadRequest request, Starter starter, long untilNanos) {}

    /** Bounds the bytes of all reads that are in flight. */
    public InFlightReads(long maxBytesInFlight) {
        this.limit = new InFlightLimit(maxBytesInFlight);
    }

    /** Returns the counters of these reads; the fabric counts retries and connections in them. */
    public ReadMeter meter() {
        return meter;
    }

    /** Returns the reads in flight, and the failures since the start. */
    public FabricLoad load() {
        return meter.load(limit.inFlightBytes());
    }

    /**
     * Starts a request, now or when its bytes no longer exceed the bound. It fails for lack of room if half of its time
     * has passed then, since the rest may be too short for a sound peer.
     *
     * @return whether it was started now
     */
    public boolean admit(ReadRequest request, Starter starter) {
        boolean mayStart = waiting.isEmpty() || isShort(request);
        if (mayStart && limit.tryAcquire(cost(request))) {
            meter.begun();
            starter.start(request);
            return true;
        }
        long now = System.nanoTime();
        long halfNanos = (request.deadlineNanos() - now) >>> 1;
        waiting.add(new Waiting(request, starter, now + halfNanos));
        // Those in flight may have ended meanwhile.
        admitWaiting();
        return false;
    }

    /** Admits waiting requests in their order, on one thread at a time: one that fails at once comes here again. */
    private void admitWaiting() {
        if (waiting.isEmpty() || wakes.getAndIncrement() != 0) {
            return;
        }
        int answered = 1;
        do {
            Waiting next = waiting.peek();
            while (next != null && limit.tryAcquire(cost(next.request()))) {
                waiting.remove();
                meter.begun();
                startWaiting(next);
                next = waiting.peek();
            }
            answered = wakes.addAndGet(-answered);
        } while (answered != 0);
    }

    private void startWaiting(Waiting admitted) {
        ReadRequest request = admitted.request();
        if (!request.listener().isWanted()) {
            fail(request, Reason.CLOSED, "its reader has ended");
            return;
        }
        if (request.isExpired() || System.nanoTime() - admitted.untilNanos() >= 0) {
            fail(request, Reason.NO_ROOM, "no room in flight for half of the time of the read");
            return;
        }
        try {
            admitted.starter().start(request);
        } catch (RuntimeException | Error e) {
            // It would end the thread of another read, and leave this one without an end.
            LOG.error("A read could not be started", e);
            fail(request, new ReadFailedException(Reason.TRANSPORT_ERROR, "the read could not be started", e));
        }
    }

    /**
     * Completes an admitted request whose bytes are in its target.
     *
     * @param startedNanos {@link System#nanoTime()} at its admission
     */
    public void succeed(ReadRequest request, long startedNanos) {
        limit.release(cost(request));
        meter.succeeded(request.lengthBytes(), startedNanos, System.nanoTime());
        admitWaiting();
        if (isFirst(request)) {
            try {
                request.listener().succeeded(request);
            } catch (RuntimeException | Error e) {
                // An Error too: it would end the thread of all other reads.
                LOG.error("The listener of a read failed", e);
            }
        }
    }

    /** Fails an admitted request and releases its target, into which nothing may write any more. */
    public void fail(ReadRequest request, ReadFailedException failure) {
        end(request, failure, true);
    }

    /**
     * Fails an admitted request and keeps its target, since something may still write into it, and the pool would lend
     * its bytes again.
     */
    public void abandon(ReadRequest request, ReadFailedException failure) {
        end(request, failure, false);
    }

    private void end(ReadRequest request, ReadFailedException failure, boolean release) {
        limit.release(cost(request));
        meter.failed();
        admitWaiting();
        if (!isFirst(request)) {
            return;
        }
        try {
            if (release) {
                request.target().close();
            }
        } catch (RuntimeException | Error e) {
            LOG.error("Cannot release the target of a read", e);
        }
        try {
            request.listener().failed(request, failure);
        } catch (RuntimeException | Error e) {
            LOG.error("The listener of a read failed", e);
        }
    }

    /** Fails an admitted request. */
    public void fail(ReadRequest request, Reason reason, String message) {
        fail(request, new ReadFailedException(reason, message));
    }

    /** Returns whether a read is as short as lookups, which do not wait behind blocks if there is room for them. */
    public static boolean isShort(ReadRequest request) {
        return request.lengthBytes() <= MAX_SHORT_BYTES;
    }

    private static boolean isFirst(ReadRequest request) {
        if (request.complete()) {
            return true;
        }
        LOG.error("A read completed twice; ignoring the second completion");
        return false;
    }

    private static long cost(ReadRequest request) {
        return Math.max(MIN_COST_BYTES, request.lengthBytes());
    }
}
