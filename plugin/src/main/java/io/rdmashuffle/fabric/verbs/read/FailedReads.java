// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;

/**
 * What becomes of the reads of one channel that cannot go on there: they start again, once and on another lane if there
 * is one, or fail.
 *
 * <p><b>Threading:</b> the data thread.
 *
 * <p><b>Ownership:</b> of its {@link PeerReadChannel}.
 */
final class FailedReads {
    private final PendingReads reads;
    private final String peer;
    private final int lane;

    /**
     * Serves a channel.
     *
     * @param peer whom the channel is to, for messages
     * @param lane of the channel
     */
    FailedReads(PendingReads reads, String peer, int lane) {
        this.reads = reads;
        this.peer = peer;
        this.lane = lane;
    }

    /**
     * Deals with a read that was outstanding on a connection that is gone.
     *
     * @param retry whether it may start again
     * @param released whether the device has let go of its target
     */
    void endOutstanding(PendingRead read, ReadFailedException failure, boolean retry, boolean released, long now) {
        if (released) {
            restartOrFail(read, failure, retry, now);
        } else {
            reads.abandon(read, failure);
        }
    }

    /**
     * Deals with a read of which nothing is under way any more.
     *
     * @param retry whether it may start again
     */
    void restartOrFail(PendingRead read, ReadFailedException failure, boolean retry, long now) {
        boolean expired = read.isExpired(now);
        boolean mayRetry = read.rewindForRetry(now);
        if (retry && mayRetry) {
            reads.meter().retried();
            read.channels().submitAfter(read, lane);
        } else {
            boolean late = expired && retry && failure.reason().isFaultOfPath();
            reads.fail(read, late ? expired() : failure);
        }
    }

    /** Has a read go another way while its peer, which did not answer in time, is not asked to connect. */
    void divert(PendingRead read, long now) {
        String why = peer + " did not answer in time, and is asked again later"
                + " (spark.shuffle.rdma.fabric.verbs.connectTimeout)";
        restartOrFail(read, new ReadFailedException(Reason.NOT_CONNECTED, why), true, now);
    }

    /** Returns the failure of reads whose deadline has passed. */
    ReadFailedException expired() {
        return StagedReads.expired(peer, false);
    }
}
