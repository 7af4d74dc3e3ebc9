// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import org.jspecify.annotations.Nullable;

/**
 * Progress of a request: the pieces posted so far, and pieces under way.
 *
 * <p><b>Threading:</b> the thread of its rail.
 */
final class OfiRead {
    private static final int MAX_RETRIES = 3;

    private final ReadRequest request;
    private final RailPeer peer;
    private final long startedNanos = System.nanoTime();
    private int slice;
    private long sliceOffset;
    private long targetOffset;
    private int underWay;
    private int retries;
    private boolean ended;
    private boolean queued;
    private @Nullable ReadFailedException failure;

    OfiRead(ReadRequest request, RailPeer peer) {
        this.request = request;
        this.peer = peer;
    }

    ReadRequest request() {
        return request;
    }

    RailPeer peer() {
        return peer;
    }

    long startedNanos() {
        return startedNanos;
    }

    /** Returns the slice whose bytes come next; null if all have been posted. */
    @Nullable
    RemoteSlice nextSlice() {
        return slice == request.sources().size() ? null : request.sources().get(slice);
    }

    /** Returns the offset of the next byte in its slice. */
    long sliceOffset() {
        return sliceOffset;
    }

    /** Returns the offset of the next byte in the target. */
    long targetOffset() {
        return targetOffset;
    }

    /** Records that bytes of the next slice are being read. */
    void posted(long bytes) {
        underWay++;
        sliceOffset += bytes;
        targetOffset += bytes;
        if (sliceOffset == request.sources().get(slice).lengthBytes()) {
            slice++;
            sliceOffset = 0;
        }
    }

    /** Records that a piece has ended, and why it has failed; the first failure counts. */
    void ended(@Nullable ReadFailedException why) {
        underWay--;
        if (failure == null) {
            failure = why;
        }
    }

    /** Fails the pieces that have not been posted. */
    void fail(ReadFailedException why) {
        if (failure == null) {
            failure = why;
        }
    }

    @Nullable
    ReadFailedException failure() {
        return failure;
    }

    boolean isUnderWay() {
        return underWay > 0;
    }

    /** Returns whether all bytes are there. */
    boolean isComplete() {
        return underWay == 0 && failure == null && nextSlice() == null;
    }

    /** Begins again; false if it has too often already. */
    boolean retry() {
        if (retries == MAX_RETRIES || ended) {
            return false;
        }
        retries++;
        failure = null;
        slice = 0;
        sliceOffset = 0;
        targetOffset = 0;
        return true;
    }

    /** Returns whether its listener has been told, though pieces may be under way. */
    boolean hasEnded() {
        return ended;
    }

    void end() {
        ended = true;
    }

    /** Returns whether it is in the queue of reads of which pieces must be posted. */
    boolean isQueued() {
        return queued;
    }

    void setQueued(boolean isQueued) {
        queued = isQueued;
    }
}
