package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.InFlightLimit;
import io.rdmashuffle.fabric.ReadBatch;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import java.util.List;
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
final class PendingReads {
    private static final Logger LOG = LoggerFactory.getLogger(PendingReads.class);
    private static final long MIN_COST_BYTES = 512;
    private static final int KEPT = 4096;

    private final InFlightLimit limit;
    private final ArrayBlockingQueue<PendingRead> free = new ArrayBlockingQueue<>(KEPT);

    PendingReads(long maxBytesInFlight) {
        this.limit = new InFlightLimit(maxBytesInFlight);
    }

    /** Counts a batch in, or returns false if it does not fit now. */
    boolean tryAdmit(ReadBatch batch) {
        List<ReadRequest> requests = batch.requests();
        long cost = 0;
        for (int i = 0; i < requests.size(); i++) {
            cost += cost(requests.get(i));
        }
        return limit.tryAcquire(cost);
    }

    /** Lends an object for one request of a batch that was admitted. */
    PendingRead lend(ReadBatch batch, ReadRequest request, VerbsPeer peer) {
        PendingRead kept = free.poll();
        PendingRead read = kept == null ? new PendingRead() : kept;
        read.start(batch, request, peer);
        return read;
    }

    /** Ends a read whose bytes are in the target. */
    void succeed(PendingRead read) {
        end(read, null);
    }

    /** Ends a read that failed; the device must not be able to write into its target any more. */
    void fail(PendingRead read, ReadFailedException failure) {
        if (read.isOutstanding()) {
            LOG.error("a read ended while pieces of it are outstanding; its memory is kept");
            abandon(read, failure);
        } else {
            end(read, failure);
        }
    }

    /**
     * Ends a read whose target the device may still write into: the listener is told, the lease is lost rather than given to
     * somebody else.
     */
    void abandon(PendingRead read, ReadFailedException failure) {
        limit.release(cost(read.request()));
        try {
            read.abandon(failure);
        } catch (RuntimeException | Error e) {
            LOG.error("a read listener threw", e);
        }
    }

    private void end(PendingRead read, @Nullable ReadFailedException failure) {
        limit.release(cost(read.request()));
        try {
            boolean first = failure == null ? read.succeed() : read.fail(failure);
            if (!first) {
                LOG.error("a read completed twice; the second completion is dropped");
            }
        } catch (RuntimeException | Error e) {
            // An Error too: the other reads of this data thread have listeners of their own.
            LOG.error("a read listener threw", e);
        }
        read.clear();
        free.offer(read);
    }

    private static long cost(ReadRequest request) {
        return Math.max(MIN_COST_BYTES, request.lengthBytes());
    }
}
