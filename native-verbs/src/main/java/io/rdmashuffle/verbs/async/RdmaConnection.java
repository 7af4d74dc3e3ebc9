// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.CmEvent;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A reliable connection with asynchronous operations.
 *
 * <p>Each operation returns a future that completes exactly once: when the device has finished, so that its local
 * memory may be used again. It fails with {@link io.rdmashuffle.verbs.WorkFailedException}, or with {@link IOException}
 * if it was never posted because the connection had ended. A failure ends the connection: everything outstanding fails
 * as flushed, with the first failure as cause. So does an operation's timeout, since its memory belongs to the device
 * until the queue pair is gone. Cancelling a future does not stop the device; the memory stays in use.
 *
 * <p>Mistakes throw at once and change nothing: {@link IndexOutOfBoundsException}, {@link IllegalArgumentException},
 * {@link IllegalStateException} for a closed region, {@link RejectedExecutionException} when as many operations are in
 * flight as the endpoint allows. Posting never waits: wait for one of your futures.
 *
 * <p>Operations that are {@linkplain PreparedOperation prepared} once and posted any number of times keep the same
 * promises,
 * with a handler in place of a future, and make no garbage.
 *
 * <p><b>Threading:</b> thread-safe. Futures complete on the connection's progress thread: what depends on them without
 * an executor of its own must not block.
 *
 * <p><b>Ownership:</b> the acceptor or the caller of {@link RdmaEndpoint#connect} closes it; closing the endpoint
 * closes the rest.
 */
public final class RdmaConnection extends RdmaOperations implements AutoCloseable {
    private static final long CLOSE_TIMEOUT_SECONDS = 10;

    private final ConnectionState state;
    private final Progress progress;
    private final ProgressThreads threads;
    private volatile byte[] peerData = new byte[0];

    RdmaConnection(ConnectionState state, Progress progress, ProgressThreads threads, Requests requests) {
        super(requests);
        this.state = state;
        this.progress = progress;
        this.threads = threads;
    }

    ConnectionState state() {
        return state;
    }

    /** Handles an event of the connection manager, on any thread. */
    void handle(CmEvent event) {
        progress.runHere(() -> state.handle(event));
    }

    /** Ends the connection for a reason, on any thread. */
    void fail(Throwable reason) {
        progress.runHere(() -> state.fail(reason));
    }

    /** {@return the peer's address, for messages} */
    public String peer() {
        return state.peer();
    }

    /**
     * {@return what the peer sent when the connection was made: with its request, or with its answer. On InfiniBand and
     * RoCE zeros follow, up to the longest that may be sent; a peer may send its length first}
     */
    public byte[] peerData() {
        return peerData.clone();
    }

    /** Keeps what the peer sent, before anybody has this connection. */
    void setPeerData(byte[] data) {
        peerData = data;
    }

    /**
     * Sets the timeout of operations posted from now on. Receives have none.
     *
     * @param timeout positive
     */
    public void operationTimeout(Duration timeout) {
        state.operationTimeout(timeout.toNanos());
    }

    /**
     * {@return a future that completes with the reason once the connection has ended: closed here, closed by the peer,
     * or failed}
     */
    public CompletableFuture<Throwable> ended() {
        return state.ended().copy();
    }

    @Override
    <T> CompletableFuture<T> submit(FutureOperation<T> operation) {
        state.post(List.of(operation));
        return operation.future();
    }

    /** {@return an empty batch of operations on this connection} */
    public RdmaBatch batch() {
        return new RdmaBatch(state, requests());
    }

    /**
     * Posts a receive for the next message; receives are taken in order, and have no timeout.
     *
     * @param local part of a region of this endpoint
     * @return completes when a message has arrived
     */
    public CompletableFuture<ReceivedMessage> receive(LocalSlice local) {
        Receive receive = requests().receive(local);
        FutureOperation<ReceivedMessage> operation = new FutureOperation<>(receive, receive::message);
        state.postReceive(List.of(operation));
        return operation.future();
    }

    /**
     * Prepares a READ of the peer's memory into local memory.
     *
     * @param local part of a region of this endpoint, in which it may move
     * @param remote memory of the peer that it may move in, at least as long; it reads the beginning until it moves
     * @param handler receives each completion
     * @return the operation, to be posted any number of times
     */
    public PreparedOperation prepareRead(LocalSlice local, RemoteRegion remote, PreparedOperation.Handler handler) {
        return prepare(requests().transferWithin(Transfer.Kind.READ, local, remote, 0), handler);
    }

    /**
     * Prepares a WRITE of local memory into the peer's, which is not notified.
     *
     * @param local part of a region of this endpoint, in which it may move
     * @param remote memory of the peer that it may move in, at least as long; it writes the beginning until it moves
     * @param handler receives each completion
     * @return the operation, to be posted any number of times
     */
    public PreparedOperation prepareWrite(LocalSlice local, RemoteRegion remote, PreparedOperation.Handler handler) {
        return prepare(requests().transferWithin(Transfer.Kind.WRITE, local, remote, 0), handler);
    }

    /**
     * Prepares a WRITE, as {@link #prepareWrite}, that then completes one of the peer's receives.
     *
     * @param local part of a region of this endpoint, in which it may move
     * @param remote memory of the peer that it may move in, at least as long; it writes the beginning until it moves
     * @param immediate 32 bits for the peer's receive
     * @param handler receives each completion
     * @return the operation, to be posted any number of times
     */
    public PreparedOperation prepareWriteWithImmediate(
            LocalSlice local, RemoteRegion remote, int immediate, PreparedOperation.Handler handler) {
        return prepare(
                requests().transferWithin(Transfer.Kind.WRITE_WITH_IMMEDIATE, local, remote, immediate), handler);
    }

    /**
     * Prepares a SEND of local memory as a message, as {@link #send(LocalSlice)}.
     *
     * @param local part of a region of this endpoint, in which it may move
     * @param handler receives each completion
     * @return the operation, to be posted any number of times
     */
    public PreparedOperation prepareSend(LocalSlice local, PreparedOperation.Handler handler) {
        return prepare(requests().send(List.of(local)), handler);
    }

    /**
     * Prepares a receive for one message at a time, as {@link #receive}.
     *
     * @param local part of a region of this endpoint, in which it may move
     * @param handler receives each completion
     * @return the operation, to be posted any number of times
     * @throws IllegalStateException if the connection takes from shared receives
     */
    public PreparedOperation prepareReceive(LocalSlice local, PreparedOperation.Handler handler) {
        state.requireOwnReceives();
        return prepare(requests().receive(local), handler);
    }

    /**
     * Prepares a compare-and-swap of 8 bytes of the peer.
     *
     * @param remote memory of the peer that it may move in, aligned to 8; it swaps the first 8 bytes until it moves
     * @param expected the value to compare with, until {@link PreparedOperation#expect} sets another
     * @param desired the value to set
     * @param handler receives each completion
     * @return the operation, to be posted any number of times
     * @throws UnsupportedOperationException if the device of this endpoint has no atomics
     */
    public PreparedOperation prepareCompareAndSwap(
            RemoteRegion remote, long expected, long desired, PreparedOperation.Handler handler) {
        return prepare(requests().compareAndSwapWithin(remote, expected, desired), handler);
    }

    /**
     * Prepares an addition to 8 bytes of the peer.
     *
     * @param remote memory of the peer that it may move in, aligned to 8; it adds to the first 8 bytes until it moves
     * @param addend the number to add each time
     * @param handler receives each completion
     * @return the operation, to be posted any number of times
     * @throws UnsupportedOperationException if the device of this endpoint has no atomics
     */
    public PreparedOperation prepareFetchAndAdd(RemoteRegion remote, long addend, PreparedOperation.Handler handler) {
        return prepare(requests().fetchAndAddWithin(remote, addend), handler);
    }

    private PreparedOperation prepare(Work work, PreparedOperation.Handler handler) {
        return new PreparedOperation(state, work, handler);
    }

    /**
     * Ends the connection: the peer is notified, and outstanding operations fail as flushed. Waits until that is done,
     * unless called on a progress thread of its endpoint. Idempotent.
     *
     * @throws CompletionException if that takes longer than 10 s
     */
    @Override
    public void close() {
        progress.execute(() -> state.fail(new IOException("connection to " + peer() + " was closed locally")));
        if (threads.isCurrentThread()) {
            return;
        }
        try {
            state.ended().copy().get(CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException e) {
            throw new CompletionException(
                    "connection to " + peer() + " did not end within " + CLOSE_TIMEOUT_SECONDS + " s", e);
        }
    }
}
