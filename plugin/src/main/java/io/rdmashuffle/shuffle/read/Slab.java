// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadListener;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.DiskTier;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.peer.PeerPath;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Blocks of one peer that are read together, one after another into one lease. What is adjacent at the peer is read in
 * one piece.
 *
 * <p><b>Threading:</b> filled and started by the task's thread; a thread of the fabric says that it has arrived.
 *
 * <p><b>Ownership:</b> of the {@link SlabReads} that read it.
 */
final class Slab {
    private final PeerPath path;
    private final Places places;
    private final List<Part> parts = new ArrayList<>();
    private final List<Output> outputs = new ArrayList<>();
    private final List<RemoteSlice> sources = new ArrayList<>();
    private final CompletableFuture<Lease> arrival = new CompletableFuture<>();
    private long lengthBytes;
    private long bytesOnDisk;
    private long turn;
    private boolean started;

    /**
     * A block of a slab.
     *
     * @param offset where it begins in the slab
     * @param checksum CRC-32C of its bytes
     */
    record Part(WantedBlock block, long offset, long lengthBytes, int checksum) {}

    /** A map output with blocks in a slab, where it was when they were looked up. */
    private record Output(int shuffleId, DirectoryEntry entry) {}

    /** Knows where map outputs are now. */
    @FunctionalInterface
    interface Places {
        /**
         * Returns whether a map output is where it was.
         *
         * @throws IOException if that cannot be told
         */
        boolean has(int shuffleId, DirectoryEntry entry) throws IOException;
    }

    Slab(PeerPath path, Places places) {
        this.path = path;
        this.places = places;
    }

    /** Says when it is this slab's turn: before all that have a greater number. */
    void turn(long number) {
        turn = number;
    }

    long turn() {
        return turn;
    }

    void started() {
        started = true;
    }

    /** Returns whether it waits to be read. */
    boolean isQueued() {
        return !started && !arrival.isDone();
    }

    /** Adds a block of a map output. */
    void add(WantedBlock block, DirectoryEntry entry, BlockRange range) {
        if (outputs.isEmpty() || !outputs.get(outputs.size() - 1).entry().equals(entry)) {
            outputs.add(new Output(block.id().shuffleId(), entry));
        }
        parts.add(new Part(block, lengthBytes, range.lengthBytes(), range.checksums()[0]));
        for (RemoteSlice slice : range.slices()) {
            int last = sources.size() - 1;
            if (last >= 0 && isNext(sources.get(last), slice)) {
                RemoteSlice before = sources.get(last);
                long both = before.lengthBytes() + slice.lengthBytes();
                sources.set(last, new RemoteSlice(before.regionId(), before.offset(), both));
            } else {
                sources.add(slice);
            }
            lengthBytes += slice.lengthBytes();
            bytesOnDisk += DiskTier.has(slice.regionId()) ? slice.lengthBytes() : 0;
        }
    }

    private static boolean isNext(RemoteSlice before, RemoteSlice slice) {
        return before.regionId() == slice.regionId() && before.offset() + before.lengthBytes() == slice.offset();
    }

    /** Returns the blocks, in order. */
    List<Part> parts() {
        return parts;
    }

    PeerPath path() {
        return path;
    }

    long lengthBytes() {
        return lengthBytes;
    }

    /** Returns how many of its bytes lie in its owner's disk tier. */
    long bytesOnDisk() {
        return bytesOnDisk;
    }

    /** Returns what completes with the lease that the bytes are in, which belongs to whoever takes it from there. */
    CompletableFuture<Lease> arrival() {
        return arrival;
    }

    /**
     * Returns whether the blocks are where they were. Asked when they are to be read, which may be long after they were
     * looked up: a freed output stays readable for a while only.
     *
     * @throws IOException if that cannot be told
     */
    boolean isCurrent() throws IOException {
        for (Output each : outputs) {
            if (!places.has(each.shuffleId(), each.entry())) {
                return false;
            }
        }
        return true;
    }

    /** Returns the read of this slab into a lease. */
    ReadRequest into(Lease target) {
        return new ReadRequest(sources, target);
    }

    /** Returns who is to be told of that read. */
    ReadListener listener() {
        return new ReadListener() {
            @Override
            public void succeeded(ReadRequest request) {
                if (!arrival.complete(request.target())) {
                    // The task has given the slab up.
                    request.target().close();
                }
            }

            @Override
            public void failed(ReadRequest request, ReadFailedException failure) {
                arrival.completeExceptionally(failure);
            }
        };
    }
}
