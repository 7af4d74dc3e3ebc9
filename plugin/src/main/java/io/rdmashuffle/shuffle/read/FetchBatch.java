// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.peer.PeerPath;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of one peer that are read together into one lease, one after another. Adjacent blocks are one piece.
 *
 * <p><b>Threading:</b> filled and started by the task's thread; completed by a thread of the fabric.
 *
 * <p><b>Ownership:</b> belongs to the {@link FetchWindow} that reads it.
 */
final class FetchBatch implements ReadRequest.Listener {
    /** Much shorter than freed memory stays unchanged; looking up a batch of small blocks takes 0.2 ms. */
    private static final long TRUST_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final PeerPath path;
    private final Refresh refresh;
    private final List<BlockRequest> requests = new ArrayList<>();
    private final List<DirectoryEntry> entries = new ArrayList<>();
    private final List<RemoteSlice> sources = new ArrayList<>();
    private final CompletableFuture<Lease> arrival = new CompletableFuture<>();
    private long lengthBytes;
    private long bytesOnDisk;
    private long turn;
    private long refreshedNanos;

    /**
     * A block in a batch.
     *
     * @param offset of its first byte in the batch
     * @param checksum CRC-32C of its bytes
     */
    record Copied(FetchBatch batch, long offset, long lengthBytes, int checksum) implements BlockLocation {}

    /** Lookup of a batch's map outputs before it is read. */
    @FunctionalInterface
    interface Refresh {
        /**
         * Moves the batch to where its blocks are now.
         *
         * @return false if it cannot be read as a whole
         * @throws IOException if the owner's directory cannot be read
         */
        boolean refresh(FetchBatch batch) throws IOException;
    }

    /**
     * Creates an empty batch.
     *
     * @param refresh looks up its map outputs again
     * @param plannedNanos when they were looked up, {@link System#nanoTime()}
     */
    FetchBatch(PeerPath path, Refresh refresh, long plannedNanos) {
        this.path = path;
        this.refresh = refresh;
        this.refreshedNanos = plannedNanos;
    }

    /** Sets the position among the batches of the task. */
    void turn(long number) {
        turn = number;
    }

    long turn() {
        return turn;
    }

    /** Appends a block of a map output. */
    void add(BlockRequest request, DirectoryEntry entry, BlockRange range) {
        request.locate(new Copied(this, lengthBytes, range.lengthBytes(), range.checksums()[0]));
        requests.add(request);
        lengthBytes += range.lengthBytes();
        addSources(entry, range);
    }

    private void addSources(DirectoryEntry entry, BlockRange range) {
        entries.add(entry);
        for (RemoteSlice slice : range.slices()) {
            int last = sources.size() - 1;
            if (last >= 0 && isNext(sources.get(last), slice)) {
                RemoteSlice before = sources.get(last);
                long both = before.lengthBytes() + slice.lengthBytes();
                sources.set(last, new RemoteSlice(before.regionId(), before.offset(), both));
            } else {
                sources.add(slice);
            }
            bytesOnDisk += Region.isOnDisk(slice.regionId()) ? slice.lengthBytes() : 0;
        }
    }

    private static boolean isNext(RemoteSlice before, RemoteSlice slice) {
        return before.regionId() == slice.regionId() && before.offset() + before.lengthBytes() == slice.offset();
    }

    /** Returns the requests, in order. */
    List<BlockRequest> requests() {
        return requests;
    }

    PeerPath path() {
        return path;
    }

    long lengthBytes() {
        return lengthBytes;
    }

    /** Returns the number of its bytes in the owner's disk tier. */
    long bytesOnDisk() {
        return bytesOnDisk;
    }

    /** Returns the completion of the read, with its lease. */
    CompletableFuture<Lease> arrival() {
        return arrival;
    }

    /**
     * Looks up its map outputs again unless that was done lately, and follows outputs that have moved. Called when it
     * is about to be read, which may be long after it was planned: a freed output stays readable for a while only.
     *
     * @return false if the batch cannot be read as a whole any more
     * @throws IOException if the owner's directory cannot be read
     */
    boolean refresh() throws IOException {
        long now = System.nanoTime();
        if (now - refreshedNanos < TRUST_NANOS) {
            return true;
        }
        if (!refresh.refresh(this)) {
            return false;
        }
        refreshedNanos = now;
        return true;
    }

    /** Returns whether it would be read from these entries, one for each request. */
    boolean isAt(List<DirectoryEntry> now) {
        return entries.equals(now);
    }

    /**
     * Changes the memory that the blocks are read from.
     *
     * @param now an entry for each request
     * @param ranges a range for each request
     * @return false if a block is not the one that was planned
     */
    boolean moveTo(List<DirectoryEntry> now, List<@Nullable BlockRange> ranges) {
        for (int i = 0; i < requests.size(); i++) {
            BlockRange range = ranges.get(i);
            if (range == null
                    || !(requests.get(i).location() instanceof Copied planned)
                    || planned.lengthBytes() != range.lengthBytes()
                    || planned.checksum() != range.checksums()[0]) {
                return false;
            }
        }
        entries.clear();
        sources.clear();
        bytesOnDisk = 0;
        for (int i = 0; i < requests.size(); i++) {
            BlockRange range = ranges.get(i);
            if (range != null) {
                addSources(now.get(i), range);
            }
        }
        return true;
    }

    /** Returns the read of this batch into a lease. */
    ReadRequest into(Lease target, long deadlineNanos) {
        return new ReadRequest(sources, target, deadlineNanos, this);
    }

    @Override
    public void succeeded(ReadRequest request) {
        if (!arrival.complete(request.target())) {
            // The task has abandoned the batch.
            request.target().close();
        }
    }

    @Override
    public boolean isWanted() {
        return !arrival.isDone();
    }

    @Override
    public void failed(ReadRequest request, ReadFailedException failure) {
        arrival.completeExceptionally(failure);
    }
}
