// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Admission and completion of the reads of a fabric: bounds their bytes, counts them, and completes each exactly once.
 *
 * <p>A short read counts as {@value #MIN_COST_BYTES} bytes, so that a bound on bytes bounds the number of reads too.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class InFlightReads {
    private static final Logger LOG = LoggerFactory.getLogger(InFlightReads.class);
    private static final long MIN_COST_BYTES = 512;

    private final InFlightLimit limit;
    private final ReadMeter meter = new ReadMeter();

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

    /** Admits a request, or returns false if its bytes exceed the bound now. */
    public boolean tryAdmit(ReadRequest request) {
        if (!limit.tryAcquire(cost(request))) {
            return false;
        }
        meter.begun();
        return true;
    }

    /**
     * Completes an admitted request whose bytes are in its target.
     *
     * @param startedNanos {@link System#nanoTime()} at its admission
     */
    public void succeed(ReadRequest request, long startedNanos) {
        limit.release(cost(request));
        meter.succeeded(request.lengthBytes(), startedNanos, System.nanoTime());
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
