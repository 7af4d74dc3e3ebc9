// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.read.PeerRegions.Lookup;

/**
 * Reads of one channel from the peer's registered memory, in order of arrival. Reads from its disk tier are
 * {@link StagedReads}.
 *
 * <p><b>Threading:</b> the data thread.
 *
 * <p><b>Ownership:</b> of its {@link PeerReadChannel}.
 */
final class MemoryReads extends WaitingReads {
    /**
     * Starts without a read.
     *
     * @param peer peer of the connection, for messages
     */
    MemoryReads(PendingReads reads, PeerRegions regions, Rail rail, String peer) {
        super(reads, regions, rail, peer);
    }

    /**
     * Posts as many READs as fit, or a query if the first read's regions are not known.
     *
     * @return whether anything was done
     * @throws io.rdmashuffle.ffi.NativeException or {@link IllegalStateException} if the queue pair refuses
     */
    boolean advance(Connection on, RequestPoster poster) {
        poster.begin();
        while (poster.hasRoom(on)) {
            PendingRead read = waiting.first();
            if (read == null) {
                break;
            }
            Lookup found = read.isReady() ? Lookup.READY : regions.lookUp(read);
            if (found == Lookup.IMPOSSIBLE) {
                refuseFirst();
                continue;
            }
            if (found == Lookup.UNKNOWN) {
                if (regions.isQuerying() || !poster.isEmpty() || !poster.hasControlRoom(on)) {
                    // Requests are numbered in posting order: the current chain comes first.
                    break;
                }
                query(on, poster, read);
                return true;
            }
            poster.addPiece(on, read, rail);
            if (read.isFullyPosted()) {
                waiting.poll();
            }
        }
        if (poster.isEmpty()) {
            return false;
        }
        poster.postReads(on);
        return true;
    }

    /**
     * Fails reads whose deadline has passed and of which nothing is outstanding.
     *
     * @param connecting whether it is a connection that they have waited for
     */
    void expire(long now, boolean connecting) {
        for (int left = waiting.size(); left > 0; left--) {
            PendingRead read = take();
            if (read.isExpired(now) && !read.isOutstanding()) {
                reads.fail(read, expired(peer, connecting));
            } else {
                waiting.add(read);
            }
        }
    }

    /** Moves the read that was posted in part, if there is one, to {@code outstanding}: its connection is gone. */
    void reset(ReadFifo outstanding) {
        PendingRead first = waiting.first();
        if (first != null && first.isOutstanding()) {
            outstanding.add(take());
        }
    }
}
