// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Operations on the peer of a connection: executed at once by the {@link RdmaConnection}, or together in an
 * {@link RdmaBatch}.
 *
 * <p>Each operation returns a future that completes exactly once: when the device has finished, so that its local
 * memory may be used again. Repeated operations are cheaper as a {@link PreparedOperation}.
 *
 * <p>On {@linkplain io.rdmashuffle.verbs.Transport#IWARP iWARP} nothing is acknowledged: a write or a send completes
 * when TCP has it, even one that the peer's device will refuse, which then ends the connection. To make sure that a
 * write has arrived, follow it with a read, which sees all earlier writes.
 */
public abstract class RdmaOperations {
    private final Requests requests;

    /** Only connections and batches of this package are some. */
    RdmaOperations(Requests requests) {
        this.requests = requests;
    }

    Requests requests() {
        return requests;
    }

    /** Posts an operation, or keeps it for later; returns its future. */
    abstract <T> CompletableFuture<T> submit(FutureOperation<T> operation);

    private CompletableFuture<Void> submit(Work work) {
        return submit(FutureOperation.of(work));
    }

    private CompletableFuture<Long> submit(Atomic atomic) {
        return submit(new FutureOperation<>(atomic, atomic::before));
    }

    /**
     * Reads the peer's memory into local memory.
     *
     * @param local part of a region of this endpoint
     * @param remote part of a region of the peer, of the same length
     * @return completes when the bytes have arrived
     */
    public final CompletableFuture<Void> read(LocalSlice local, RemoteRegion remote) {
        return read(List.of(local), remote);
    }

    /**
     * Reads the peer's memory into several pieces of local memory, one after the other.
     *
     * @param local parts of regions of this endpoint, at most {@link EndpointOptions#maxPieces()}
     * @param remote part of a region of the peer, as long as all of them
     * @return completes when the bytes have arrived
     */
    public final CompletableFuture<Void> read(List<LocalSlice> local, RemoteRegion remote) {
        return submit(requests.transfer(Transfer.Kind.READ, local, remote, 0));
    }

    /**
     * Writes local memory into the peer's; the peer is not notified.
     *
     * @param local part of a region of this endpoint
     * @param remote part of a region of the peer, of the same length
     * @return completes when the peer's device has acknowledged the bytes
     */
    public final CompletableFuture<Void> write(LocalSlice local, RemoteRegion remote) {
        return write(List.of(local), remote);
    }

    /**
     * Writes several pieces of local memory into the peer's, one after the other; the peer is not notified.
     *
     * @param local parts of regions of this endpoint, at most {@link EndpointOptions#maxPieces()}
     * @param remote part of a region of the peer, as long as all of them
     * @return completes when the peer's device has acknowledged the bytes
     */
    public final CompletableFuture<Void> write(List<LocalSlice> local, RemoteRegion remote) {
        return submit(requests.transfer(Transfer.Kind.WRITE, local, remote, 0));
    }

    /**
     * Writes local memory into the peer's, then completes one of its receives.
     *
     * @param local part of a region of this endpoint
     * @param remote part of a region of the peer, of the same length
     * @param immediate 32 bits for the peer's {@link ReceivedMessage}
     * @return completes when the peer's device has acknowledged the bytes
     */
    public final CompletableFuture<Void> writeWithImmediate(LocalSlice local, RemoteRegion remote, int immediate) {
        return writeWithImmediate(List.of(local), remote, immediate);
    }

    /**
     * Writes several pieces of local memory into the peer's, then completes one of its receives.
     *
     * @param local parts of regions of this endpoint, at most {@link EndpointOptions#maxPieces()}
     * @param remote part of a region of the peer, as long as all of them
     * @param immediate 32 bits for the peer's {@link ReceivedMessage}
     * @return completes when the peer's device has acknowledged the bytes
     */
    public final CompletableFuture<Void> writeWithImmediate(
            List<LocalSlice> local, RemoteRegion remote, int immediate) {
        return submit(requests.transfer(Transfer.Kind.WRITE_WITH_IMMEDIATE, local, remote, immediate));
    }

    /**
     * Sends local memory as a message, which the peer's oldest receive takes. Waits for a receive until the timeout
     * passes; on iWARP the connection ends if there is none.
     *
     * @param local part of a region of this endpoint
     * @return completes when the peer's device has acknowledged the message
     */
    public final CompletableFuture<Void> send(LocalSlice local) {
        return send(List.of(local));
    }

    /**
     * Sends several pieces of local memory as one message.
     *
     * @param local parts of regions of this endpoint, at most {@link EndpointOptions#maxPieces()}
     * @return completes when the peer's device has acknowledged the message
     */
    public final CompletableFuture<Void> send(List<LocalSlice> local) {
        return submit(requests.send(local));
    }

    /**
     * Sends a short message inline, inside the request itself: the device needs no access to memory.
     *
     * @param message at most {@link EndpointOptions#inlineBytes()}; copied during the call
     * @return completes when the peer's device has acknowledged the message
     * @throws IllegalArgumentException if the message is longer
     */
    public final CompletableFuture<Void> send(byte[] message) {
        return submit(requests.send(message));
    }

    /**
     * Sets 8 bytes of the peer if they have the expected value.
     *
     * @param remote 8 bytes, aligned to 8
     * @param expected the value to compare with
     * @param desired the value to set
     * @return completes with the value before
     * @throws UnsupportedOperationException if the device of this endpoint has no atomics
     */
    public final CompletableFuture<Long> compareAndSwap(RemoteRegion remote, long expected, long desired) {
        return submit(requests.compareAndSwap(remote, expected, desired));
    }

    /**
     * Adds to 8 bytes of the peer.
     *
     * @param remote 8 bytes, aligned to 8
     * @param addend the number to add
     * @return completes with the value before
     * @throws UnsupportedOperationException if the device of this endpoint has no atomics
     */
    public final CompletableFuture<Long> fetchAndAdd(RemoteRegion remote, long addend) {
        return submit(requests.fetchAndAdd(remote, addend));
    }
}
