// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SharedReceiveQueue;
import io.rdmashuffle.verbs.WorkCompletions;
import io.rdmashuffle.verbs.WorkFailedException;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Receives shared by any number of connections, so that memory for messages does not grow with the number of peers;
 * each message goes to one handler, and its receive is posted again.
 *
 * <p>When all of them hold messages that are being handled, peers' sends wait, as they do for a connection without a
 * receive.
 *
 * <p><b>Threading:</b> thread-safe. The handler runs on the progress thread of the connection that a message came on,
 * for each connection in the order of its messages, and must not block.
 *
 * <p><b>Ownership:</b> the caller of {@link RdmaEndpoint#shareReceives} closes it; closing the endpoint closes the
 * rest. Owns its queue and memory, and ends the connections that use it.
 *
 * <p><b>Source:</b> ibv_create_srq(3), ibv_post_srq_recv(3).
 */
public final class SharedReceives implements AutoCloseable {
    private static final long CLOSE_TIMEOUT_SECONDS = 10;

    private final ProgressThreads threads;
    private final Handler handler;
    private final Consumer<SharedReceives> onClose;
    private final int number;
    private final int count;
    private final int messageBytes;
    private final LocalRegion region;
    private final SharedReceiveQueue queue;
    /** By the number of the queue pair, which completions tell. */
    private final Map<Integer, RdmaConnection> connections = new ConcurrentHashMap<>();

    private final Object lock = new Object();
    private final ReceiveRequests receive = new ReceiveRequests(1);
    private boolean closed;

    /** Handler of messages. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Handles a message. One of a peer that has just connected may come before the acceptor gets the connection.
         *
         * @param from the connection that it came on; if this throws, it ends
         * @param bytes the message, empty if a write with immediate data took the receive; valid until this returns
         * @param message its length, and what the sender added
         */
        void handle(RdmaConnection from, LocalSlice bytes, ReceivedMessage message);
    }

    /**
     * Posts all receives.
     *
     * @param number for work request ids, as connections have one
     * @throws IOException if a completion queue has no room for that many
     */
    SharedReceives(
            Resources resources,
            ProgressThreads threads,
            int number,
            int count,
            int messageBytes,
            Handler handler,
            Consumer<SharedReceives> onClose)
            throws IOException {
        this.threads = threads;
        this.number = number;
        this.count = count;
        this.messageBytes = messageBytes;
        this.handler = handler;
        this.onClose = onClose;
        threads.reserveOnEach(count);
        LocalRegion memory = null;
        SharedReceiveQueue created = null;
        boolean made = false;
        try {
            memory = resources.allocate((long) count * messageBytes, Set.of(Access.LOCAL_WRITE));
            created = resources.createSharedReceiveQueue(count);
            this.region = memory;
            this.queue = created;
            for (int slot = 0; slot < count; slot++) {
                post(slot);
            }
            made = true;
        } finally {
            if (!made) {
                free(created, memory);
            }
        }
        threads.forEach(thread -> thread.add(new OnThread(thread)));
    }

    /** Its completions and its failure, on one of the threads. */
    private final class OnThread implements CompletionTarget {
        private final Progress thread;

        OnThread(Progress thread) {
            this.thread = thread;
        }

        @Override
        public int number() {
            return number;
        }

        @Override
        public void complete(WorkCompletions completions, int index) {
            take(completions, index);
        }

        @Override
        public boolean isSubjectOf(AsyncEvent event) {
            return event.isAbout(queue);
        }

        @Override
        public long tick(long now) {
            return Operation.NEVER;
        }

        @Override
        public void fail(Throwable reason) {
            thread.forget(this);
            connections.values().forEach(connection -> connection.fail(reason));
        }

        @Override
        public void abort(Throwable reason) {
            fail(reason);
        }
    }

    /** {@return how many messages can be under way or in handling at a time} */
    public int count() {
        return count;
    }

    /** {@return the longest message; a longer one ends its connection} */
    public int messageBytes() {
        return messageBytes;
    }

    /** Returns the source of receives for connections. */
    ReceiveSource source() {
        return new ReceiveSource() {
            @Override
            public SharedReceiveQueue queue() {
                return queue;
            }

            @Override
            public void requireOpen() throws IOException {
                SharedReceives.this.requireOpen();
            }

            @Override
            public void add(int pairNumber, RdmaConnection connection) throws IOException {
                SharedReceives.this.add(pairNumber, connection);
            }
        };
    }

    private void requireOpen() throws IOException {
        synchronized (lock) {
            if (closed) {
                throw new IOException("the shared receives of this connection are closed");
            }
        }
    }

    private void add(int pairNumber, RdmaConnection connection) throws IOException {
        synchronized (lock) {
            requireOpen();
            connections.put(pairNumber, connection);
        }
        CompletableFuture<Void> unused =
                connection.ended().thenAccept(reason -> connections.remove(pairNumber, connection));
    }

    /** Handles a message, or a receive that has failed with its connection, and posts the receive again. */
    private void take(WorkCompletions completions, int index) {
        int slot = (int) completions.workRequestId(index);
        RdmaConnection from = connections.get(completions.queuePairNumber(index));
        try {
            if (from != null && completions.succeeded(index)) {
                ReceivedMessage message = ReceivedMessage.of(completions, index);
                int arrived = completions.isReceiveOfWrite(index) ? 0 : message.lengthBytes();
                handler.handle(from, region.slice(offset(slot), arrived), message);
            } else if (from != null && completions.status(index) != CompletionStatus.WORK_REQUEST_FLUSHED) {
                from.fail(new WorkFailedException(
                        "shared receive of at most " + messageBytes + " bytes",
                        from.peer(),
                        completions.status(index),
                        completions.vendorError(index)));
            }
        } catch (RuntimeException | Error e) {
            from.fail(new IOException("the handler of messages threw on one from " + from.peer(), e));
        }
        postAgain(slot);
    }

    private void postAgain(int slot) {
        try {
            post(slot);
        } catch (RuntimeException e) {
            // The device, or its queue: without receives no connection gets a message.
            connections.values().forEach(connection -> connection.fail(e));
        }
    }

    private void post(int slot) {
        synchronized (lock) {
            if (closed) {
                return;
            }
            receive.clear();
            receive.add(
                    CompletionTarget.workRequestId(number, slot),
                    region.address(offset(slot)),
                    messageBytes,
                    region.localKey());
            if (queue.post(receive) != 1) {
                throw new IllegalStateException(queue + " does not take the " + count + " receives it was made for");
            }
        }
    }

    private long offset(int slot) {
        return (long) slot * messageBytes;
    }

    /**
     * Ends the connections that take from this, then frees queue and memory; idempotent. Waits for that.
     *
     * @throws IllegalStateException if called on a progress thread of its endpoint, or if a connection has not ended
     *     after {@value #CLOSE_TIMEOUT_SECONDS} s: queue and memory are then kept
     */
    @Override
    public void close() {
        if (threads.isCurrentThread()) {
            throw new IllegalStateException("shared receives cannot be closed by a progress thread of their endpoint");
        }
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
        }
        IOException reason = new IOException("the shared receives of this connection were closed");
        connections.values().forEach(connection -> connection.fail(reason));
        awaitEnds();
        threads.forEach(thread -> thread.forget(number));
        free(queue, region);
        onClose.accept(this);
    }

    /** Also when interrupted: the device may not lose memory that it writes into. */
    private void awaitEnds() {
        CompletableFuture<?>[] ends =
                connections.values().stream().map(RdmaConnection::ended).toArray(CompletableFuture[]::new);
        try {
            CompletableFuture.allOf(ends)
                    .orTimeout(CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
                    .join();
        } catch (CompletionException e) {
            throw new IllegalStateException(
                    "connections have not ended " + CLOSE_TIMEOUT_SECONDS + " s after the close of their receives", e);
        }
    }

    /** The queue goes first, so that the device can no longer write into the memory. */
    private void free(@Nullable SharedReceiveQueue created, @Nullable LocalRegion memory) {
        if (created != null) {
            created.close();
        }
        if (memory != null) {
            memory.close();
        }
        receive.close();
        threads.forEach(thread -> thread.giveBack(count));
    }
}
