// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A peer as one rail reads it, and its regions.
 *
 * <p><b>Threading:</b> the thread of its rail, except {@link #openRegions}, {@link #isReachable}, {@link #isClosed} and
 * {@link #close}.
 */
final class RailPeer {
    /** Refusals with more time between them are not one. */
    private static final long SEPARATE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final String peerId;
    private final long fabricId;
    private final OfiAddress.Endpoint endpoint;
    private final Map<Integer, OfiMessage.Answer> regions = new HashMap<>();
    private int pieces;
    private long refusedSinceNanos;
    private long refusedLastNanos;
    private volatile int openRegions;
    private volatile boolean closed;
    private volatile boolean reachable = true;

    RailPeer(String peerId, long fabricId, OfiAddress.Endpoint endpoint) {
        this.peerId = peerId;
        this.fabricId = fabricId;
        this.endpoint = endpoint;
    }

    String peerId() {
        return peerId;
    }

    long fabricId() {
        return fabricId;
    }

    OfiAddress.Endpoint endpoint() {
        return endpoint;
    }

    /** Returns how a region is read; null if that is not known. */
    OfiMessage.@Nullable Answer region(int id) {
        return regions.get(id);
    }

    void learn(OfiMessage.Answer answer) {
        regions.put(answer.regionId(), answer);
        openRegions = regions.size();
    }

    void forgetAll() {
        regions.clear();
        openRegions = 0;
    }

    /** Counts a piece that is under way. */
    void pieceBegun() {
        pieces++;
        refusedSinceNanos = 0;
    }

    /** Records that no piece could begin; returns whether none has been under way for that time. */
    boolean refuses(long nowNanos, long forNanos) {
        if (pieces > 0) {
            refusedSinceNanos = 0;
            return false;
        }
        if (refusedSinceNanos == 0 || nowNanos - refusedLastNanos > SEPARATE_NANOS) {
            refusedSinceNanos = nowNanos;
        }
        refusedLastNanos = nowNanos;
        return nowNanos - refusedSinceNanos > forNanos;
    }

    void pieceEnded() {
        pieces--;
    }

    /** Returns the pieces that are under way. */
    int pieces() {
        return pieces;
    }

    int openRegions() {
        return openRegions;
    }

    boolean isReachable() {
        return reachable;
    }

    void setReachable(boolean isReachable) {
        reachable = isReachable;
    }

    boolean isClosed() {
        return closed;
    }

    void close() {
        closed = true;
    }
}
