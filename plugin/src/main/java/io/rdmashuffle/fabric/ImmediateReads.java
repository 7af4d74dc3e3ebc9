// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.memory.Lease;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Begins to read small things from a peer and waits for nothing: where there is no room now the read fails, and whoever
 * needs the bytes reads them with {@link BlockingReads}.
 *
 * <p><b>Threading:</b> thread-safe; reads end on a thread of the fabric, at their deadline at the latest.
 */
public final class ImmediateReads {
    private final ReceiveLeases leases;
    private final Duration timeout;

    ImmediateReads(ReceiveLeases leases, Duration timeout) {
        this.leases = leases;
        this.timeout = timeout;
    }

    /**
     * Begins to copy slices of one peer.
     *
     * @return what completes with the bytes, which whoever takes them closes, or with a {@link ReadFailedException}
     */
    public CompletableFuture<RemoteBytes> start(Peer peer, List<RemoteSlice> slices) {
        long length = slices.stream().mapToLong(RemoteSlice::lengthBytes).sum();
        Lease target = reserve(length);
        if (target == null) {
            return failed("no receive lease of " + length + " bytes in the pool");
        }
        Arrival arrival = new Arrival(new CompletableFuture<>());
        try {
            ReadRequest request = new ReadRequest(slices, target);
            if (peer.read(new ReadBatch(List.of(request), System.nanoTime() + timeout.toNanos(), arrival))) {
                return arrival.bytes();
            }
        } catch (RuntimeException e) {
            target.close();
            // Not thrown: others may wait for what this would have brought.
            return CompletableFuture.failedFuture(
                    new ReadFailedException(Reason.TRANSPORT_ERROR, "a read could not be begun", e));
        }
        target.close();
        return failed("no room in flight");
    }

    private @Nullable Lease reserve(long bytes) {
        try {
            return leases.tryReserve(bytes);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    private static CompletableFuture<RemoteBytes> failed(String message) {
        return CompletableFuture.failedFuture(new ReadFailedException(Reason.NO_ROOM, message));
    }

    private record Arrival(CompletableFuture<RemoteBytes> bytes) implements ReadListener {
        @Override
        public void succeeded(ReadRequest request) {
            RemoteBytes copied = RemoteBytes.copied(request);
            if (!bytes.complete(copied)) {
                copied.close();
            }
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failure) {
            bytes.completeExceptionally(failure);
        }
    }
}
