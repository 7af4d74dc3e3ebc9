// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.WorkCompletions;
import java.io.IOException;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

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
 * <p><b>Threading:</b> thread-safe. Futures complete on the endpoint's progress thread: what depends on them without an
 * executor of its own must not block.
 *
 * <p><b>Ownership:</b> the acceptor or the caller of {@link RdmaEndpoint#connect} closes it; closing the endpoint
 * closes the rest.
 */
public final class RdmaConnection implements AutoCloseable {
    private static final long CLOSE_TIMEOUT_SECONDS = 10;

    private final ConnectionState state;
    private final Progress progress;
    /**
     * Old values of atomics, 8 bytes per slot, then the bytes of inline messages; freed when the connection has ended.
     */
    private final LocalRegion scratch;

    private final EndpointOptions options;
    private final Resources resources;
    private volatile long timeoutNanos;
    private volatile byte[] peerData = new byte[0];

    RdmaConnection(
            ConnectionState state,
            Progress progress,
            LocalRegion scratch,
            EndpointOptions options,
            Resources resources) {
        this.state = state;
        this.progress = progress;
        this.scratch = scratch;
        this.options = options;
        this.resources = resources;
        this.timeoutNanos = options.operationTimeout().toNanos();
    }

    static long scratchBytes(EndpointOptions options) {
        return (long) options.maxInFlight() * Long.BYTES + options.inlineBytes();
    }

    ConnectionState state() {
        return state;
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
        timeoutNanos = timeout.toNanos();
    }

    /**
     * {@return a future that completes with the reason once the connection has ended: closed here, closed by the peer,
     * or failed}
     */
    public CompletableFuture<Throwable> ended() {
        return state.ended().copy();
    }

    /**
     * Reads the peer's memory into local memory.
     *
     * @param local part of a region of this endpoint
     * @param remote part of a region of the peer, of the same length
     * @return completes when the bytes have arrived
     */
    public CompletableFuture<Void> read(LocalSlice local, RemoteRegion remote) {
        requireEqual(local, remote);
        local.region().requireLocalWrite("READ into " + local);
        return state.post(
                operation("READ of " + local + " from " + remote, local.region(), RdmaConnection::nothing),
                (chain, id, slot) -> chain.read(
                        id,
                        address(local),
                        local.lengthBytes(),
                        local.region().localKey(),
                        remote.address(),
                        remote.remoteKey(),
                        true));
    }

    /**
     * Writes local memory into the peer's; the peer is not notified.
     *
     * @param local part of a region of this endpoint
     * @param remote part of a region of the peer, of the same length
     * @return completes when the peer's device has acknowledged the bytes
     */
    public CompletableFuture<Void> write(LocalSlice local, RemoteRegion remote) {
        return write("WRITE", local, remote, OptionalInt.empty());
    }

    /**
     * Writes local memory into the peer's, then completes one of its receives.
     *
     * @param local part of a region of this endpoint
     * @param remote part of a region of the peer, of the same length
     * @param immediate 32 bits for the peer's {@link ReceivedMessage}
     * @return completes when the peer's device has acknowledged the bytes
     */
    public CompletableFuture<Void> writeWithImmediate(LocalSlice local, RemoteRegion remote, int immediate) {
        return write("WRITE with immediate", local, remote, OptionalInt.of(immediate));
    }

    private CompletableFuture<Void> write(String name, LocalSlice local, RemoteRegion remote, OptionalInt immediate) {
        requireEqual(local, remote);
        return state.post(
                operation(name + " of " + local + " to " + remote, local.region(), RdmaConnection::nothing),
                (chain, id, slot) -> {
                    chain.write(
                            id,
                            address(local),
                            local.lengthBytes(),
                            local.region().localKey(),
                            remote.address(),
                            remote.remoteKey(),
                            true);
                    immediate.ifPresent(chain::withImmediate);
                });
    }

    /**
     * Sends local memory as a message, which the peer's oldest receive takes. Waits for a receive until the timeout
     * passes.
     *
     * @param local part of a region of this endpoint
     * @return completes when the peer's device has acknowledged the message
     */
    public CompletableFuture<Void> send(LocalSlice local) {
        return state.post(
                operation("SEND of " + local, local.region(), RdmaConnection::nothing),
                (chain, id, slot) -> chain.send(
                        id, address(local), local.lengthBytes(), local.region().localKey(), true));
    }

    /**
     * Sends a short message inline, inside the request itself: the device needs no access to memory.
     *
     * @param message at most {@link EndpointOptions#inlineBytes()}; copied during the call
     * @return completes when the peer's device has acknowledged the message
     * @throws IllegalArgumentException if the message is longer
     */
    public CompletableFuture<Void> send(byte[] message) {
        if (message.length > options.inlineBytes()) {
            throw new IllegalArgumentException("inline message of " + message.length + " bytes: at most "
                    + options.inlineBytes() + "; send a slice of a region instead");
        }
        long offset = (long) options.maxInFlight() * Long.BYTES;
        return state.post(
                operation("SEND of " + message.length + " bytes inline", null, RdmaConnection::nothing),
                (chain, id, slot) -> {
                    // Under the connection's lock, and the device copies while it is posted: one place serves all
                    // messages.
                    scratch.put(offset, message);
                    chain.send(id, scratch.address(offset), message.length, scratch.localKey(), true)
                            .inline();
                });
    }

    /**
     * Posts a receive for the next message; receives are taken in order, and have no timeout.
     *
     * @param local part of a region of this endpoint
     * @return completes when a message has arrived
     */
    public CompletableFuture<ReceivedMessage> receive(LocalSlice local) {
        require(local);
        if (local.lengthBytes() > 0) {
            local.region().requireLocalWrite("RECEIVE into " + local);
        }
        Operation<ReceivedMessage> operation =
                new Operation<>("RECEIVE into " + local, local.region(), Operation.NEVER, RdmaConnection::received);
        return state.postReceive(
                operation, address(local), local.lengthBytes(), local.region().localKey());
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
    public CompletableFuture<Long> compareAndSwap(RemoteRegion remote, long expected, long desired) {
        requireAtomic(remote);
        return state.post(
                operation("COMPARE_AND_SWAP at " + remote, null, this::oldValue),
                (chain, id, slot) -> chain.compareAndSwap(
                        id,
                        scratch.address((long) slot * Long.BYTES),
                        scratch.localKey(),
                        remote.address(),
                        remote.remoteKey(),
                        expected,
                        desired));
    }

    /**
     * Adds to 8 bytes of the peer.
     *
     * @param remote 8 bytes, aligned to 8
     * @param addend the number to add
     * @return completes with the value before
     * @throws UnsupportedOperationException if the device of this endpoint has no atomics
     */
    public CompletableFuture<Long> fetchAndAdd(RemoteRegion remote, long addend) {
        requireAtomic(remote);
        return state.post(
                operation("FETCH_AND_ADD at " + remote, null, this::oldValue),
                (chain, id, slot) -> chain.fetchAndAdd(
                        id,
                        scratch.address((long) slot * Long.BYTES),
                        scratch.localKey(),
                        remote.address(),
                        remote.remoteKey(),
                        addend));
    }

    /**
     * Ends the connection: the peer is notified, and outstanding operations fail as flushed. Waits until that is done,
     * unless called on the progress thread. Idempotent.
     *
     * @throws CompletionException if that takes longer than 10 s
     */
    @Override
    public void close() {
        progress.execute(() -> state.fail(new IOException("connection to " + peer() + " was closed locally")));
        if (progress.isCurrentThread()) {
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

    private <T> Operation<T> operation(String name, @Nullable LocalRegion region, Operation.Result<T> result) {
        if (region != null && !resources.knows(region)) {
            throw new IllegalArgumentException(name + ": the region belongs to another endpoint");
        }
        return new Operation<>(name, region, timeoutNanos, result);
    }

    private void require(LocalSlice local) {
        if (!resources.knows(local.region())) {
            throw new IllegalArgumentException(local + ": the region belongs to another endpoint");
        }
    }

    private static void requireEqual(LocalSlice local, RemoteRegion remote) {
        if (local.lengthBytes() != remote.lengthBytes()) {
            throw new IllegalArgumentException("local " + local + ", remote " + remote + ": must be equally long");
        }
    }

    private void requireAtomic(RemoteRegion remote) {
        if (!resources.atomics()) {
            throw new UnsupportedOperationException(
                    resources.deviceName() + " has no atomics (ibv_devinfo -v: atomic_cap)");
        }
        if (remote.lengthBytes() != Long.BYTES || remote.address() % Long.BYTES != 0) {
            throw new IllegalArgumentException("atomic on " + remote + ": must be 8 bytes, aligned to 8");
        }
    }

    /** The slice's address; alive, for the operation keeps the region open. */
    private static long address(LocalSlice local) {
        return local.region().address(local.offset());
    }

    @SuppressWarnings("NullAway") // a future of Void knows only null
    private static Void nothing(WorkCompletions completions, int index, int slot) {
        return null;
    }

    private Long oldValue(WorkCompletions completions, int index, int slot) {
        return scratch.getLong((long) slot * Long.BYTES);
    }

    private static ReceivedMessage received(WorkCompletions completions, int index, int slot) {
        return new ReceivedMessage(
                completions.lengthBytes(index),
                completions.hasImmediate(index) ? OptionalInt.of(completions.immediate(index)) : OptionalInt.empty());
    }
}
