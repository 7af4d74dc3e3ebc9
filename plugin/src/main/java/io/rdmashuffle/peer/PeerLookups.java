// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.lifecycle.Unchecked;
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
 * Asks many peers at once, so that a task waits for the slowest of them and not for the sum.
 *
 * <p><b>Threading:</b> thread-safe. The asking thread does one look-up itself, and those for which no thread is left.
 *
 * <p><b>Ownership:</b> owns its threads, which end when they have been idle for a while.
 */
public final class PeerLookups implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeerLookups.class);
    private static final String LATE =
            "Looking up the blocks of an executor has not ended in time: Spark's block transfer brings them";
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
     * Does look-ups at once, and waits for all. Throws what a look-up throws, and undeclared, as Scala's methods do, an
     * {@link InterruptedException}.
     *
     * @return results in the same order; null for one that takes too long, whose result is dropped
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
     * Waits until all that was begun has ended, however it did. Throws, undeclared, an {@link InterruptedException}.
     *
     * @return whether all have; if not, those that have not are to be left alone
     */
    public boolean await(List<? extends CompletableFuture<?>> begun) {
        try {
            CompletableFuture.allOf(begun.toArray(CompletableFuture<?>[]::new))
                    .get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (ExecutionException e) {
            return true;
        } catch (TimeoutException e) {
            LOG.warn(LATE);
            return false;
        } catch (InterruptedException e) {
            throw Unchecked.raise(e);
        }
    }

    /** Returns what runs all that it is given, on a thread of its own or, if there is none left, on the caller's. */
    public Executor executor() {
        return threads;
    }

    private static <T> @Nullable T await(CompletableFuture<T> result, long deadline) {
        try {
            return result.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            LOG.warn(LATE);
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
