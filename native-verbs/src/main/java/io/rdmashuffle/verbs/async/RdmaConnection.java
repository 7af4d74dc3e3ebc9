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

    /** Takes an event of the connection manager, on any thread. */
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
        requests().setTimeout(timeout.toNanos());
    }

    /**
     * {@return a future that completes with the reason once the connection has ended: closed here, closed by the peer,
     * or failed}
     */
    public CompletableFuture<Throwable> ended() {
        return state.ended().copy();
    }

    @Override
    <T> CompletableFuture<T> submit(Request<T> request) {
        state.post(List.of(request));
        return request.operation().future();
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
        return state.postReceive(requests().receive(local), local);
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
