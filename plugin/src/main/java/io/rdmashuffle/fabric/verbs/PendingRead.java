package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.ReadBatch;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import org.jspecify.annotations.Nullable;

/**
 * A request on its way through the fabric: what of it has been posted, and what has arrived. Used again and again, so that a
 * read makes no garbage.
 *
 * <p><b>Threading:</b> handed from the thread that asks to one data thread, and perhaps from that to another; one thread at
 * a time.
 *
 * <p><b>Ownership:</b> of the {@link PendingReads} it came from; holds the request's target lease until the end.
 */
final class PendingRead {
    /** A request that failed on two connections is given up: the caller has another path. */
    private static final int MAX_ATTEMPTS = 2;

    /** The second question is for the case that what is known was dropped while the first was under way. */
    private static final int MAX_QUESTIONS = 2;

    private @Nullable ReadRequest request;
    private @Nullable ReadBatch batch;
    private @Nullable VerbsPeer peer;
    private int slice;
    private long sliceOffset;
    private long targetOffset;
    private int outstanding;
    private int attempts;
    private int asked;
    private @Nullable RegionTable regions;

    /** Links reads that wait; belongs to whichever queue holds this. */
    @Nullable
    PendingRead next;

    void start(ReadBatch ofBatch, ReadRequest read, VerbsPeer from) {
        batch = ofBatch;
        request = read;
        peer = from;
        attempts = 0;
        next = null;
        rewind();
    }

    /** Forgets what was posted; nothing of it may be outstanding. */
    private void rewind() {
        slice = 0;
        sliceOffset = 0;
        targetOffset = 0;
        outstanding = 0;
        asked = 0;
        regions = null;
    }

    /** Lets go of everything, for the next use. */
    void clear() {
        request = null;
        batch = null;
        peer = null;
        regions = null;
        next = null;
    }

    ReadRequest request() {
        return bound(request);
    }

    ReadBatch batch() {
        return bound(batch);
    }

    VerbsPeer peer() {
        return bound(peer);
    }

    private static <T> T bound(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("a pending read that nobody started");
        }
        return value;
    }

    /** Counts an attempt that failed; returns whether another one is allowed, and starts from the beginning if so. */
    boolean mayRetry() {
        attempts++;
        rewind();
        return attempts < MAX_ATTEMPTS && !batch().isExpired();
    }

    /** Counts a question about the peer's regions on behalf of this read. */
    void askedForRegions() {
        asked++;
    }

    /** Returns whether another question makes sense. */
    boolean mayAskForRegions() {
        return asked < MAX_QUESTIONS;
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

    /** Returns where in the peer's region the next piece begins. */
    long sourceOffset() {
        return source().offset() + sliceOffset;
    }

    /** Returns where in the target the next piece goes. */
    long targetOffset() {
        return targetOffset;
    }

    /** Returns how long the next piece is, at most {@code longest} bytes. */
    int pieceBytes(int longest) {
        return (int) Math.min(longest, source().lengthBytes() - sliceOffset);
    }

    /** Counts a piece as posted. */
    void posted(int bytes) {
        targetOffset += bytes;
        sliceOffset += bytes;
        outstanding++;
        if (sliceOffset == source().lengthBytes()) {
            slice++;
            sliceOffset = 0;
        }
    }

    /** Returns whether every piece was posted. */
    boolean isFullyPosted() {
        return slice == request().sources().size();
    }

    /** Counts a piece as arrived; returns whether the read is complete. */
    boolean arrived() {
        outstanding--;
        return outstanding == 0 && isFullyPosted();
    }

    /** Returns whether the device may still write into the target. */
    boolean isOutstanding() {
        return outstanding > 0;
    }

    /** Tells the listener of success; returns whether it was the first to be told anything. */
    boolean succeed() {
        if (!request().complete()) {
            return false;
        }
        batch().listener().succeeded(request());
        return true;
    }

    /** Tells the listener and keeps the target. */
    void abandon(ReadFailedException failure) {
        if (request().complete()) {
            batch().listener().failed(request(), failure);
        }
    }

    /** Gives the target back and tells the listener; nothing may be outstanding. */
    boolean fail(ReadFailedException failure) {
        if (!request().complete()) {
            return false;
        }
        request().target().close();
        batch().listener().failed(request(), failure);
        return true;
    }
}
