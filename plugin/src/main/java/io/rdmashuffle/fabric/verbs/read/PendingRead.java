// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.memory.Region;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * State of a request in the fabric: posted and arrived pieces. Reused, so that a read creates no garbage.
 *
 * <p><b>Threading:</b> handed from the requesting thread to one data thread, and possibly to another; one thread at a
 * time.
 *
 * <p><b>Ownership:</b> of the {@link PendingReads} it came from; holds the request's target lease until the end.
 */
public final class PendingRead {
    /** A request that failed on two connections is given up: the caller has another path. */
    private static final int MAX_ATTEMPTS = 2;

    /** The second query is needed if the known regions were dropped during the first one. */
    private static final int MAX_QUERIES = 2;

    private @Nullable ReadRequest request;
    private @Nullable Channels channels;
    private int slice;
    private long sliceOffset;
    private long targetOffset;
    private long startedNanos;
    private int outstanding;
    private int attempts;
    private int queries;
    private @Nullable RegionTable regions;
    private @Nullable ReadFailedException doom;

    /** Links reads that wait; belongs to whichever queue holds this. */
    @Nullable
    PendingRead next;

    /** The channels to the peer that is read from, one for each data thread, as a read sees them. */
    public interface Channels {
        /** Adds a read to the channel of this lane; on that lane's data thread. */
        void add(PendingRead read, int lane);

        /** Starts a read again on the next channel whose data thread runs, after it failed on this lane. */
        void submitAfter(PendingRead read, int failedLane);
    }

    void start(ReadRequest read, Channels to, long nowNanos) {
        startedNanos = nowNanos;
        request = read;
        channels = to;
        attempts = 0;
        next = null;
        rewind();
    }

    /** Resets posted pieces, none of which may be outstanding. */
    private void rewind() {
        slice = 0;
        sliceOffset = 0;
        targetOffset = 0;
        outstanding = 0;
        queries = 0;
        regions = null;
        doom = null;
    }

    /** Clears all references for reuse. */
    void clear() {
        request = null;
        channels = null;
        regions = null;
        doom = null;
        next = null;
    }

    ReadRequest request() {
        return bound(request);
    }

    Channels channels() {
        return bound(channels);
    }

    private static <T> T bound(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("a pending read that was not started");
        }
        return value;
    }

    /** Returns the submission time. */
    long startedNanos() {
        return startedNanos;
    }

    long deadlineNanos() {
        return request().deadlineNanos();
    }

    /** Returns whether the deadline has passed. */
    boolean isExpired(long now) {
        return now - request().deadlineNanos() >= 0;
    }

    /**
     * Resets to the beginning after a failed attempt, of which nothing may be outstanding. Returns false if that was
     * the last attempt, or the deadline has passed.
     */
    boolean rewindForRetry(long now) {
        attempts++;
        rewind();
        return attempts < MAX_ATTEMPTS && !isExpired(now);
    }

    /** Counts a region query sent on behalf of this read. */
    void countQuery() {
        queries++;
    }

    /** Returns whether another region query makes sense. */
    boolean hasQueryLeft() {
        return queries < MAX_QUERIES;
    }

    /** Returns whether the regions that this read needs are known. */
    boolean isReady() {
        return regions != null;
    }

    /** Takes the regions that this read needs, whatever becomes of the table that they were looked up in. */
    void use(RegionTable table) {
        regions = table;
    }

    RegionTable regions() {
        return bound(regions);
    }

    /** Returns the slice that the next piece comes from. */
    RemoteSlice source() {
        return request().sources().get(slice);
    }

    /** Returns the offset of the next piece in the peer's region. */
    long sourceOffset() {
        return source().offset() + sliceOffset;
    }

    /** Returns the offset of the next piece in the target. */
    long targetOffset() {
        return targetOffset;
    }

    /** Returns the length of the next piece, at most {@code longest} bytes. */
    int pieceBytes(int longest) {
        return (int) Math.min(longest, source().lengthBytes() - sliceOffset);
    }

    /** Counts a piece as posted and goes on to the next one. */
    void advancePast(int bytes) {
        targetOffset += bytes;
        sliceOffset += bytes;
        outstanding++;
        // Staged bytes of adjacent slices arrive as one piece.
        while (!isFullyPosted() && sliceOffset >= source().lengthBytes()) {
            sliceOffset -= source().lengthBytes();
            slice++;
        }
    }

    /** Returns whether any of the slices lies in the peer's disk tier. */
    boolean needsStaging() {
        List<RemoteSlice> sources = request().sources();
        for (int i = 0; i < sources.size(); i++) {
            if (Region.isOnDisk(sources.get(i).regionId())) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether the next piece must be staged. */
    boolean isOnDisk() {
        return Region.isOnDisk(source().regionId());
    }

    /** Returns the length of the next piece that is in the disk tier only, at most {@code longest} bytes. */
    int stagedPieceBytes(int longest) {
        List<RemoteSlice> sources = request().sources();
        long bytes = -sliceOffset;
        for (int i = slice; i < sources.size() && bytes < longest; i++) {
            if (!Region.isOnDisk(sources.get(i).regionId())) {
                break;
            }
            bytes += sources.get(i).lengthBytes();
        }
        return (int) Math.min(longest, bytes);
    }

    /** Adds the rest of this read in the disk tier to a staging question, in order, as far as it fits. */
    void describeStaging(StagingQuestion question) {
        List<RemoteSlice> sources = request().sources();
        long from = sliceOffset;
        for (int i = slice; i < sources.size() && !question.isFull(); i++) {
            RemoteSlice source = sources.get(i);
            if (Region.isOnDisk(source.regionId())) {
                question.add(source.regionId(), source.offset() + from, source.lengthBytes() - from);
            }
            from = 0;
        }
    }

    /** Fails this read as soon as nothing of it is outstanding; nothing more of it is posted. */
    void doom(ReadFailedException failure) {
        doom = failure;
        slice = request().sources().size();
        sliceOffset = 0;
    }

    /** Returns the reason why this read must fail although all its pieces have arrived; null if there is none. */
    @Nullable
    ReadFailedException doom() {
        return doom;
    }

    /** Drops outstanding pieces of a destroyed queue pair; returns whether there were any. */
    boolean dropOutstanding() {
        boolean any = outstanding > 0;
        outstanding = 0;
        return any;
    }

    /** Returns whether every piece was posted. */
    boolean isFullyPosted() {
        return slice == request().sources().size();
    }

    /** Counts a piece as arrived; returns whether the read is complete. */
    boolean takeArrival() {
        outstanding--;
        return outstanding == 0 && isFullyPosted();
    }

    /** Returns whether the device may still write into the target. */
    boolean isOutstanding() {
        return outstanding > 0;
    }
}
