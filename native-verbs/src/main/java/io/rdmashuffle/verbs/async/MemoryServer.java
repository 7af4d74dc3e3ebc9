// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Server that allocates memory of this process for peers, up to a bound: see {@link RemoteMemory}.
 *
 * <p>Memory is freed when its peer releases it, when the peer's connection ends, or when the server is closed. All
 * peers together never have more than the bound, counted in pages of 4096 bytes: a byte that is registered pins a page.
 * A peer that has been admitted needs no further right.
 *
 * <p><b>Threading:</b> thread-safe. Memory is allocated and freed by a thread {@code rdma-memory-N}: pinning takes too
 * long for a progress thread.
 *
 * <p><b>Ownership:</b> the caller of {@link RdmaEndpoint#serveMemory} closes it; closing the endpoint closes the rest.
 * Owns its listener, its connections and all memory that peers have.
 */
public final class MemoryServer implements AutoCloseable {
    private static final AtomicInteger THREADS = new AtomicInteger();
    private static final int CLOSE_TIMEOUT_SECONDS = 10;

    private final Resources resources;
    private final ProgressThreads threads;
    private final Consumer<MemoryServer> onClose;
    private final Set<MemorySession> sessions = ConcurrentHashMap.newKeySet();
    private final ExecutorService worker;
    private final RdmaListener listener;
    /** Changed by the worker alone. */
    private final MemoryBudget budget;

    private volatile boolean closed;

    /** Factory of a server's listener; in {@link RdmaEndpoint}. */
    interface Listen {
        RdmaListener with(Function<ConnectRequest, ConnectAnswer> admission, Consumer<RdmaConnection> preparation);
    }

    MemoryServer(
            Resources resources,
            ProgressThreads threads,
            long maxBytes,
            Function<ConnectRequest, ConnectAnswer> admission,
            Listen listen,
            Consumer<MemoryServer> onClose) {
        this.resources = resources;
        this.threads = threads;
        this.budget = new MemoryBudget(maxBytes);
        this.onClose = onClose;
        this.worker = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, "rdma-memory-" + THREADS.getAndIncrement());
            thread.setDaemon(true);
            return thread;
        });
        this.listener = listen.with(
                request -> maxBytes == 0
                        ? ConnectAnswer.refuse("this server gives no memory to peers")
                        : admission.apply(request),
                this::serve);
    }

    /** Serves a peer that has not been accepted yet: its first message may come together with the acceptance. */
    private void serve(RdmaConnection connection) {
        MemorySession session = new MemorySession(budget, this::execute, sessions::remove, resources, connection);
        sessions.add(session);
        if (closed) { // looked at after adding: if not here, then close() sees the session
            sessions.remove(session);
            throw new IllegalStateException("this memory server is closed");
        }
        session.start();
    }

    /** {@return the address and port that peers connect to} */
    public InetSocketAddress address() {
        return listener.address();
    }

    /** {@return how many bytes peers have at this moment, in whole pages; at most the bound} */
    public long usedBytes() {
        return budget.usedBytes();
    }

    /** Runs a task on the thread that allocates and frees; not once this is closed, when all is freed. */
    private void execute(Runnable task) {
        try {
            worker.execute(task);
        } catch (RejectedExecutionException e) {
            // Closed: memory is already freed, and allocations are no longer needed.
        }
    }

    /**
     * Stops listening, ends the connections, and frees what peers have; idempotent. Waits until it is free.
     *
     * @throws IllegalStateException if called on a progress thread of its endpoint, or if the memory is not free after
     *     {@value #CLOSE_TIMEOUT_SECONDS} s
     */
    @Override
    public void close() {
        if (threads.isCurrentThread()) {
            throw new IllegalStateException("a memory server cannot be closed by a progress thread of its endpoint");
        }
        closed = true;
        onClose.accept(this);
        listener.close();
        sessions.forEach(MemorySession::close);
        worker.shutdown();
        try {
            if (!worker.awaitTermination(CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                throw new IllegalStateException(
                        "memory of peers is not free " + CLOSE_TIMEOUT_SECONDS + " s after close");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
