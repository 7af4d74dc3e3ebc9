// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.lifecycle.DaemonThreads;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Runs what is done after a failed read, apart for each peer: opening Spark's connection to a host that is gone takes
 * two minutes, for which the blocks of another peer must not wait.
 *
 * <p>What is for one peer runs in order, one after the other, so that a dead one occupies one thread.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its threads, which end when they have been idle for a while.
 */
final class PeerFallbacks implements AutoCloseable {
    /** Beyond so many peers that are gone at once, others wait for their turn. */
    static final int MAX_THREADS = 32;

    private static final long IDLE_SECONDS = 30;

    private final ExecutorService threads;
    /** By executor id, what waits behind what runs: no more than its reads in flight; empty once this is closed. */
    private final Map<String, Queue<Runnable>> waiting = new HashMap<>();

    PeerFallbacks() {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                MAX_THREADS,
                MAX_THREADS,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                new DaemonThreads("fallback"));
        pool.allowCoreThreadTimeOut(true);
        this.threads = pool;
    }

    /**
     * Has something run for a peer.
     *
     * @throws RejectedExecutionException if this is closed
     */
    void execute(String executorId, Runnable fallback) {
        synchronized (waiting) {
            Queue<Runnable> behind = waiting.get(executorId);
            if (behind != null) {
                behind.add(fallback);
                return;
            }
            threads.execute(() -> run(executorId, fallback));
            waiting.put(executorId, new ArrayDeque<>());
        }
    }

    private void run(String executorId, Runnable first) {
        try {
            first.run();
        } finally {
            next(executorId);
        }
    }

    private void next(String executorId) {
        synchronized (waiting) {
            Queue<Runnable> behind = waiting.get(executorId);
            Runnable next = behind == null ? null : behind.poll();
            if (next == null) {
                waiting.remove(executorId);
            } else {
                threads.execute(() -> run(executorId, next));
            }
        }
    }

    /** Starts nothing more, and interrupts what runs; what waits is dropped. */
    @Override
    public void close() {
        synchronized (waiting) {
            threads.shutdownNow();
            waiting.clear();
        }
    }
}
