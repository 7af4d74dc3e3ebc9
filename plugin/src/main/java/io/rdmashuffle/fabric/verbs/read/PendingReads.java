// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.FabricLoad;
import io.rdmashuffle.fabric.InFlightLimit;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadMeter;
import io.rdmashuffle.fabric.ReadRequest;
import java.util.concurrent.ArrayBlockingQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts what is in flight, and lends the objects that stand for it.
 *
 * <p>A short read counts as {@value #MIN_COST_BYTES} bytes, so that a bound on bytes bounds the number of reads too.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class PendingReads {
    private static final Logger LOG = LoggerFactory.getLogger(PendingReads.class);
    private static final long MIN_COST_BYTES = 512;
    private static final int KEPT = 4096;

    private final InFlightLimit limit;
    private final ReadMeter meter = new ReadMeter();
    private final ArrayBlockingQueue<PendingRead> free = new ArrayBlockingQueue<>(KEPT);

    /** Bounds the bytes being read at once. */
    public PendingReads(long maxBytesInFlight) {
        this.limit = new InFlightLimit(maxBytesInFlight);
    }

    /** Returns what counts reads and the connections that they go over. */
    public ReadMeter meter() {
        return meter;
    }

    /** Returns what is under way, and what has gone wrong since the start. */
    public FabricLoad load() {
        return meter.load(limit.inFlightBytes());
    }

    /** Counts a request in, or returns false if it does not fit now. */
    public boolean tryAdmit(ReadRequest request) {
        return limit.tryAcquire(cost(request));
    }

    /** Lends an object for a request that was admitted. */
    public PendingRead lend(ReadRequest request, PendingRead.Channels channels) {
        PendingRead kept = free.poll();
        PendingRead read = kept == null ? new PendingRead() : kept;
        read.start(request, channels, System.nanoTime());
        meter.begun();
        return read;
    }

    /** Ends a read of which everything that was posted has arrived. */
    void succeed(PendingRead read) {
        end(read, read.doom());
    }

    /** Ends a read that failed; the device must not be able to write into its target any more. */
    public void fail(PendingRead read, ReadFailedException failure) {
        if (read.isOutstanding()) {
            LOG.error("A read failed while pieces of it are outstanding; its receive memory is kept");
            abandon(read, failure);
        } else {
            end(read, failure);
        }
    }

    /**
     * Ends a read whose target the device may still write into: the listener is told, and the lease is kept, since the
     * pool would lend its bytes again.
     */
    void abandon(PendingRead read, ReadFailedException failure) {
        meter.failed();
        limit.release(cost(read.request()));
        try {
            read.abandon(failure);
        } catch (RuntimeException | Error e) {
            LOG.error("Read listener failed", e);
        }
    }

    private void end(PendingRead read, @Nullable ReadFailedException failure) {
        limit.release(cost(read.request()));
        if (failure == null) {
            meter.succeeded(read.request().lengthBytes(), read.startedNanos(), System.nanoTime());
        } else {
            meter.failed();
        }
        try {
            boolean first = failure == null ? read.succeed() : read.fail(failure);
            if (!first) {
                LOG.error("Second completion of a read ignored");
            }
        } catch (RuntimeException | Error e) {
            // An Error too: the other reads of this data thread have listeners of their own.
            LOG.error("The listener of a read failed, or its target had been closed by the caller", e);
        }
        read.clear();
        free.offer(read);
    }

    private static long cost(ReadRequest request) {
        return Math.max(MIN_COST_BYTES, request.lengthBytes());
    }
}
