// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.text.Quantities;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Concurrent lookups of many peers, so that a task waits for the slowest one and not for the sum.
 *
 * <p><b>Threading:</b> thread-safe. The calling thread executes one lookup itself, and those for which no thread is
 * free.
 *
 * <p><b>Ownership:</b> owns its threads, which end when they have been idle for a while.
 */
public final class PeerLookups implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeerLookups.class);
    private static final int MAX_THREADS = 32;
    private static final long IDLE_SECONDS = 30;

    private final ExecutorService threads = new ThreadPoolExecutor(
            0,
            MAX_THREADS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            new DaemonThreads("lookup"),
            (lookup, full) -> lookup.run());
    private final Duration timeout;

    /**
     * Starts no thread yet.
     *
     * @param timeout limit for lookups that miss their own deadline
     */
    public PeerLookups(Duration timeout) {
        this.timeout = timeout;
    }

    /**
     * Executes lookups concurrently and waits for all. Throws their exceptions, and an undeclared
     * {@link InterruptedException}, as Scala's methods do.
     *
     * @return results in the same order; null for a lookup that timed out, whose result is dropped
     */
    public <T> List<@Nullable T> all(List<Supplier<T>> lookups) {
        long deadline = System.nanoTime() + timeout.toNanos();
        List<CompletableFuture<T>> others = new ArrayList<>(lookups.size());
        for (int i = 1; i < lookups.size(); i++) {
            others.add(CompletableFuture.supplyAsync(lookups.get(i), threads));
        }
        List<@Nullable T> results = new ArrayList<>(lookups.size());
        if (!lookups.isEmpty()) {
            results.add(lookups.get(0).get());
        }
        for (CompletableFuture<T> each : others) {
            results.add(await(each, deadline));
        }
        return results;
    }

    /**
     * Waits until all started lookups have ended. Throws an undeclared {@link InterruptedException}.
     *
     * @return whether all have ended
     */
    public boolean await(List<? extends CompletableFuture<?>> begun) {
        try {
            CompletableFuture.allOf(begun.toArray(CompletableFuture<?>[]::new))
                    .get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (ExecutionException e) {
            return true;
        } catch (TimeoutException e) {
            warnOfTimeout();
            return false;
        } catch (InterruptedException e) {
            throw Unchecked.raise(e);
        }
    }

    /** Returns an executor that uses its own threads or, if none is free, the caller's. */
    public Executor executor() {
        return threads;
    }

    private void warnOfTimeout() {
        LOG.warn(
                "Blocks of some executors were not found within {}; Spark's block transfer serves them"
                        + " (spark.shuffle.rdma.fetch.timeout)",
                Quantities.duration(timeout));
    }

    private <T> @Nullable T await(CompletableFuture<T> result, long deadline) {
        try {
            return result.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            warnOfTimeout();
            return null;
        } catch (ExecutionException e) {
            throw Unchecked.raise(e.getCause() == null ? e : e.getCause());
        } catch (InterruptedException e) {
            throw Unchecked.raise(e);
        }
    }

    @Override
    public void close() {
        threads.shutdown();
    }
}
