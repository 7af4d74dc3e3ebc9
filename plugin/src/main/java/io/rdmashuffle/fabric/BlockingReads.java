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

/**
 * Reads small things from a peer and waits for them: in place where the fabric can, through a leased buffer where not.
 *
 * <p><b>Threading:</b> thread-safe; the calling thread waits, never longer than the timeout plus the fabric's own
 * grace.
 */
public final class BlockingReads {
    /** Between two attempts at a fabric whose bytes in flight are at their bound. */
    private static final long RETRY_MILLIS = 1;

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

    /** Returns reads into the same leases, with the same deadline, that wait for nothing. */
    public ImmediateReads immediate() {
        return new ImmediateReads(leases, timeout);
    }

    /**
     * Reads slices of one peer; the caller closes the result.
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
            return RemoteBytes.copied(copy(peer, slices));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while reading from a peer");
        }
    }

    private ReadRequest copy(Peer peer, List<RemoteSlice> slices) throws ReadFailedException, InterruptedException {
        long length = slices.stream().mapToLong(RemoteSlice::lengthBytes).sum();
        Lease target = leases.reserve(length);
        if (target == null) {
            throw new ReadFailedException(Reason.NO_ROOM, "no receive lease of " + length + " bytes in the pool");
        }
        long deadline = System.nanoTime() + timeout.toNanos();
        CompletableFuture<ReadRequest> arrival = new CompletableFuture<>();
        ReadBatch batch = new ReadBatch(List.of(new ReadRequest(slices, target)), deadline, new Arrival(arrival));
        try {
            while (!peer.read(batch)) {
                if (batch.isExpired()) {
                    throw new ReadFailedException(
                            Reason.TIMED_OUT, "no room in flight for " + Quantities.duration(timeout));
                }
                Thread.sleep(RETRY_MILLIS);
            }
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, target);
            throw failure;
        }
        return await(arrival);
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

    /** The reader has given up: a lease that arrived is given back here, one that comes later by {@link Arrival}. */
    private static void abandon(CompletableFuture<ReadRequest> arrival, Exception cause) {
        boolean arrived = !arrival.completeExceptionally(cause) && !arrival.isCompletedExceptionally();
        if (arrived) {
            arrival.join().target().close();
        }
    }

    private record Arrival(CompletableFuture<ReadRequest> future) implements ReadListener {
        @Override
        public void succeeded(ReadRequest request) {
            if (!future.complete(request)) {
                request.target().close();
            }
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failure) {
            future.completeExceptionally(failure);
        }
    }
}
