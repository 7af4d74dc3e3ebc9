// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.device.Rail;

/**
 * Queue of unposted reads of one channel.
 *
 * <p><b>Threading:</b> the data thread.
 *
 * <p><b>Ownership:</b> of its {@link PeerReadChannel}.
 */
abstract class WaitingReads {
    final PendingReads reads;
    final PeerRegions regions;
    final Rail rail;
    /** The peer, as messages name it. */
    final String peer;

    final ReadFifo waiting = new ReadFifo();

    WaitingReads(PendingReads reads, PeerRegions regions, Rail rail, String peer) {
        this.reads = reads;
        this.regions = regions;
        this.rail = rail;
        this.peer = peer;
    }

    /** Returns whether no read waits to be posted. */
    boolean isEmpty() {
        return waiting.isEmpty();
    }

    void add(PendingRead read) {
        waiting.add(read);
    }

    int size() {
        return waiting.size();
    }

    /** Removes the first read. */
    PendingRead take() {
        return waiting.take();
    }

    /** Removes the first read and fails it: it reaches outside of the peer's regions. */
    void refuseFirst() {
        PendingRead read = take();
        Reason reason = regions.leadsToAbsent(read) ? Reason.REGION_ABSENT : Reason.OUT_OF_BOUNDS;
        reads.fail(read, new ReadFailedException(reason, regions.reasonAgainst(read) + " of " + peer));
    }

    /**
     * Queries the regions that a read needs and that are not known.
     *
     * @throws io.rdmashuffle.ffi.NativeException or {@link IllegalStateException} if the queue pair refuses
     */
    void query(Connection on, RequestPoster poster, PendingRead read) {
        read.countQuery();
        regions.expectUntil(read.deadlineNanos());
        regions.query(on, poster);
    }

    /**
     * Returns the failure of a read whose deadline has passed.
     *
     * @param connecting whether it has waited for a connection
     */
    static ReadFailedException expired(String peer, boolean connecting) {
        return new ReadFailedException(
                connecting ? Reason.NOT_CONNECTED : Reason.TIMED_OUT,
                peer + (connecting ? " was not connected" : " did not deliver")
                        + " within the read's deadline (spark.shuffle.rdma.fabric.readTimeout)");
    }
}
