// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Client of a peer's {@link MemoryServer}, with its own connection.
 *
 * <p>Its {@link #connection()} reads and writes allocated memory, as does any connection to the same endpoint of the
 * peer; messages on it belong to this class. When it ends, the peer frees all memory.
 *
 * <p><b>Threading:</b> thread-safe. Futures complete on the connection's progress thread.
 *
 * <p><b>Ownership:</b> the caller of {@link RdmaEndpoint#connectMemory} closes it; closing the endpoint does so too.
 */
public final class RemoteMemory implements AutoCloseable {
    /** Until the connection may have room again for a message, after its reads and writes took all. */
    private static final long RETRY_MILLIS = 1;

    private final RdmaConnection connection;
    private final MessageSlots messages;
    private final Object lock = new Object();
    private final Deque<Question> waiting = new ArrayDeque<>();
    private final Map<Integer, Question> asked = new HashMap<>();
    private final Deque<Integer> freeSlots = new ArrayDeque<>();
    private int nextId;
    private @Nullable Throwable ended;

    /** A request with its answer to be. */
    private record Question(MemoryMessage request, CompletableFuture<MemoryMessage> answer) {
        boolean isAnsweredBy(MemoryMessage message) {
            return switch (message.type()) {
                case GRANTED ->
                    request.type() == MemoryMessage.Type.ALLOCATE
                            && message.region().lengthBytes()
                                    == request.region().lengthBytes();
                case REFUSED -> request.type() == MemoryMessage.Type.ALLOCATE;
                case FREED -> request.type() == MemoryMessage.Type.FREE;
                default -> false;
            };
        }
    }

    private RemoteMemory(Resources resources, RdmaConnection connection) {
        this.connection = connection;
        this.messages = new MessageSlots(resources, connection, this::take);
        for (int slot = 0; slot < messages.count(); slot++) {
            freeSlots.add(slot);
        }
        messages.start();
        CompletableFuture<Void> unused = connection.ended().thenAccept(this::end);
    }

    /** Returns a future of the memory of a new connection, which ends if the future is cancelled before. */
    static CompletableFuture<RemoteMemory> over(Resources resources, CompletableFuture<RdmaConnection> connecting) {
        CompletableFuture<RemoteMemory> result = new CompletableFuture<>();
        CompletableFuture<RdmaConnection> unused = connecting.whenComplete((connection, failure) -> {
            if (connection == null) {
                result.completeExceptionally(failure);
            } else {
                open(resources, connection, result);
            }
        });
        return result;
    }

    private static void open(Resources resources, RdmaConnection connection, CompletableFuture<RemoteMemory> result) {
        try {
            if (!result.complete(new RemoteMemory(resources, connection))) {
                connection.fail(new IOException("the caller cancelled its future before there was a connection"));
            }
        } catch (RuntimeException e) {
            connection.fail(e);
            result.completeExceptionally(e);
        }
    }

    /** {@return the connection, for reads, writes and atomics; its sends and receives are this object's} */
    public RdmaConnection connection() {
        return connection;
    }

    /**
     * Allocates memory of the peer.
     *
     * @param lengthBytes at least 1
     * @param timeout until the future fails; later allocations are released
     * @return completes with zeroed memory, which the caller closes; or fails with {@link MemoryRefusedException} if
     *     the peer has no room, with {@link IOException} if it did not answer in time or the connection has ended
     * @throws IllegalArgumentException if the length is not positive
     */
    public CompletableFuture<RemoteAllocation> allocate(long lengthBytes, Duration timeout) {
        if (lengthBytes < 1) {
            throw new IllegalArgumentException("length of " + lengthBytes + " bytes: must be positive");
        }
        CompletableFuture<RemoteAllocation> result = new CompletableFuture<>();
        CompletableFuture<Void> timer =
                new CompletableFuture<Void>().completeOnTimeout(null, timeout.toNanos(), TimeUnit.NANOSECONDS);
        CompletableFuture<Void> unusedLate =
                timer.thenRunAsync(() -> result.completeExceptionally(new IOException("peer " + connection.peer()
                        + " did not answer within " + timeout.toMillis() + " ms, asked for " + lengthBytes
                        + " bytes")));
        CompletableFuture<RemoteAllocation> unusedInTime =
                result.whenComplete((memory, failure) -> timer.cancel(false));
        MemoryMessage request;
        synchronized (lock) {
            request = MemoryMessage.allocate(nextId++, lengthBytes);
        }
        CompletableFuture<MemoryMessage> unused =
                ask(request).whenComplete((answer, failure) -> answer(request, answer, failure, result));
        return result;
    }

    private void answer(
            MemoryMessage request,
            @Nullable MemoryMessage answer,
            @Nullable Throwable failure,
            CompletableFuture<RemoteAllocation> result) {
        if (answer == null) {
            result.completeExceptionally(failure);
        } else if (answer.type() == MemoryMessage.Type.GRANTED) {
            RemoteAllocation memory =
                    new RemoteAllocation(answer.region(), () -> ask(MemoryMessage.free(request.id())));
            if (!result.complete(memory)) {
                memory.close(); // too late, or cancelled
            }
        } else {
            result.completeExceptionally(
                    new MemoryRefusedException(request.region().lengthBytes(), connection.peer(), answer.text()));
        }
    }

    private CompletableFuture<MemoryMessage> ask(MemoryMessage request) {
        Question question = new Question(request, new CompletableFuture<>());
        Throwable over;
        synchronized (lock) {
            over = ended;
            if (over == null) {
                waiting.add(question);
            }
        }
        if (over != null) {
            return CompletableFuture.failedFuture(hasEnded(over));
        }
        sendWaiting();
        return question.answer();
    }

    /** Sends as many questions as there are slots. */
    private void sendWaiting() {
        messages.guard(() -> {
            synchronized (lock) {
                while (ended == null && !waiting.isEmpty() && !freeSlots.isEmpty()) {
                    if (!send(waiting.getFirst(), freeSlots.getFirst())) {
                        CompletableFuture.delayedExecutor(RETRY_MILLIS, TimeUnit.MILLISECONDS)
                                .execute(this::sendWaiting);
                        return;
                    }
                    waiting.removeFirst();
                    freeSlots.removeFirst();
                }
            }
        });
    }

    /** Sends a question; returns false if the connection has no room for it. */
    private boolean send(Question question, int slot) {
        try {
            asked.put(question.request().id(), question);
            CompletableFuture<Void> sent = messages.send(slot, question.request());
            CompletableFuture<Void> unused = CompletableFuture.allOf(sent, question.answer())
                    .thenRun(() -> {
                        synchronized (lock) {
                            freeSlots.add(slot);
                        }
                        sendWaiting();
                    });
            return true;
        } catch (RejectedExecutionException e) {
            asked.remove(question.request().id());
            return false;
        }
    }

    private void take(MemoryMessage answer, int slot) {
        messages.receive(slot);
        Question question;
        synchronized (lock) {
            question = asked.get(answer.id());
            if (question == null || !question.isAnsweredBy(answer)) {
                throw new IllegalArgumentException("an answer to no question: " + answer.type() + " " + answer.id());
            }
            asked.remove(answer.id());
        }
        question.answer().complete(answer);
    }

    private void end(Throwable reason) {
        List<Question> left;
        synchronized (lock) {
            ended = reason;
            left = new ArrayList<>(waiting);
            left.addAll(asked.values());
            waiting.clear();
            asked.clear();
        }
        left.forEach(question -> question.answer().completeExceptionally(hasEnded(reason)));
    }

    private IOException hasEnded(Throwable reason) {
        return new IOException("connection to " + connection.peer() + " has ended, and its memory with it", reason);
    }

    /** Ends the connection, as {@link RdmaConnection#close()} does; the peer frees its memory. */
    @Override
    public void close() {
        connection.close();
    }
}
