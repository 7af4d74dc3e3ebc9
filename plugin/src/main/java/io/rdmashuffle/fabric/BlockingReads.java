// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.text.Quantities;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Blocking reads of small records from a peer: {@link #read} waits for them, {@link #start} waits for nothing.
 *
 * <p><b>Threading:</b> thread-safe; the thread that calls {@code read} waits, never longer than the timeout plus the
 * fabric's own grace. What {@code start} began ends on a thread of the fabric, at its deadline at the latest.
 */
public final class BlockingReads {
    private final ReceiveLeases leases;
    private final Duration timeout;

    /**
     * Reads into {@code leases}.
     *
     * @param timeout deadline of each read
     */
    public BlockingReads(ReceiveLeases leases, Duration timeout) {
        this.leases = leases;
        this.timeout = timeout;
    }

    /**
     * Reads slices of one peer, in place where the fabric can, through a leased buffer where not; the caller closes the
     * result.
     *
     * @throws ReadFailedException if the bytes did not come in time, or the pool has no room for them
     * @throws InterruptedIOException if the thread was interrupted; its flag stays set
     */
    public RemoteBytes read(Peer peer, List<RemoteSlice> slices) throws ReadFailedException, InterruptedIOException {
        RemoteBytes inPlace = RemoteBytes.inPlace(peer, slices);
        if (inPlace != null) {
            return inPlace;
        }
        try {
            return copy(peer, slices);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while reading from a peer");
        }
    }

    /**
     * Starts to copy slices of one peer. If the pool has no room now the read fails; whoever needs the bytes calls
     * {@link #read}.
     *
     * @return completes with the bytes, which the receiver closes, or with a {@link ReadFailedException}
     */
    public CompletableFuture<RemoteBytes> start(Peer peer, List<RemoteSlice> slices) {
        Lease target = tryReserve(lengthOf(slices));
        if (target == null) {
            return CompletableFuture.failedFuture(noLease(slices));
        }
        Arrival arrival = new Arrival(new CompletableFuture<>());
        try {
            peer.read(request(slices, target, arrival));
        } catch (RuntimeException e) {
            target.close();
            // Not thrown: others may wait for what this would have brought.
            return CompletableFuture.failedFuture(
                    new ReadFailedException(Reason.TRANSPORT_ERROR, "a read could not be begun", e));
        }
        return arrival.request().thenApply(RemoteBytes::copied);
    }

    private @Nullable Lease tryReserve(long bytes) {
        try {
            return leases.tryReserve(bytes);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    private static long lengthOf(List<RemoteSlice> slices) {
        return slices.stream().mapToLong(RemoteSlice::lengthBytes).sum();
    }

    private static ReadFailedException noLease(List<RemoteSlice> slices) {
        return new ReadFailedException(
                Reason.NO_ROOM, "no receive lease of " + lengthOf(slices) + " bytes in the pool");
    }

    private ReadRequest request(List<RemoteSlice> slices, Lease target, Arrival arrival) {
        return new ReadRequest(slices, target, System.nanoTime() + timeout.toNanos(), arrival);
    }

    private RemoteBytes copy(Peer peer, List<RemoteSlice> slices) throws ReadFailedException, InterruptedException {
        Lease target = leases.reserve(lengthOf(slices));
        if (target == null) {
            throw noLease(slices);
        }
        Arrival arrival = new Arrival(new CompletableFuture<>());
        try {
            peer.read(request(slices, target, arrival));
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, target);
            throw failure;
        }
        return RemoteBytes.copied(await(arrival.request()));
    }

    private ReadRequest await(CompletableFuture<ReadRequest> arrival) throws ReadFailedException, InterruptedException {
        try {
            return arrival.get(2 * timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ReadFailedException failure) {
                throw failure;
            }
            throw new ReadFailedException(Reason.TRANSPORT_ERROR, "read failed", e);
        } catch (TimeoutException e) {
            ReadFailedException late = new ReadFailedException(
                    Reason.TIMED_OUT, "no completion within " + Quantities.duration(timeout), e);
            abandon(arrival, late);
            throw late;
        } catch (InterruptedException e) {
            abandon(arrival, e);
            throw e;
        }
    }

    /** Releases the lease of a read that the reader has given up; {@link Arrival} releases one that comes later. */
    private static void abandon(CompletableFuture<ReadRequest> arrival, Exception cause) {
        boolean arrived = !arrival.completeExceptionally(cause) && !arrival.isCompletedExceptionally();
        if (arrived) {
            arrival.join().target().close();
        }
    }

    private record Arrival(CompletableFuture<ReadRequest> request) implements ReadRequest.Listener {
        @Override
        public void succeeded(ReadRequest arrived) {
            if (!request.complete(arrived)) {
                arrived.target().close();
            }
        }

        @Override
        public boolean isWanted() {
            return !request.isDone();
        }

        @Override
        public void failed(ReadRequest failed, ReadFailedException failure) {
            request.completeExceptionally(failure);
        }
    }
}
