// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.lifecycle.DaemonThreads;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;

/**
 * Ends the waits of killed tasks. Unless {@code spark.job.interruptOnCancel} is set, Spark only marks a cancelled task
 * as killed, which the task does not notice while it waits for blocks.
 *
 * <p><b>Threading:</b> thread-safe; one thread, which looks 20 times a second as long as there are reads.
 *
 * <p><b>Ownership:</b> owns its thread.
 *
 * <p><b>Source:</b> {@code TaskContextImpl.markInterrupted}, {@code TaskRunner.kill}.
 */
public final class KillWatch implements AutoCloseable {
    private static final long TICK_MILLIS = 50;

    private final Set<Read> reads = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean ticking = new AtomicBoolean();
    private final ScheduledThreadPoolExecutor timer;

    /** A read of a task; each is another one. */
    private static final class Read {
        private final BooleanSupplier isKilled;
        private final Runnable end;

        Read(BooleanSupplier isKilled, Runnable end) {
            this.isKilled = isKilled;
            this.end = end;
        }
    }

    /** Starts without a thread, which the first read brings. */
    public KillWatch() {
        this.timer = new ScheduledThreadPoolExecutor(1, new DaemonThreads("kills"));
        timer.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    }

    /**
     * Watches a read.
     *
     * @param isKilled whether its task has been killed
     * @param end ends its waits; called at most once, must be quick and must not throw
     * @return forgets the read
     */
    Runnable watch(BooleanSupplier isKilled, Runnable end) {
        Read read = new Read(isKilled, end);
        reads.add(read);
        tickLater();
        return () -> reads.remove(read);
    }

    private void tickLater() {
        if (ticking.compareAndSet(false, true)) {
            var unused = timer.schedule(this::tick, TICK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void tick() {
        try {
            reads.stream().filter(read -> read.isKilled.getAsBoolean()).toList().forEach(read -> {
                if (reads.remove(read)) {
                    read.end.run();
                }
            });
        } finally {
            ticking.set(false);
            if (!reads.isEmpty()) {
                tickLater();
            }
        }
    }

    /** Ends no further read. */
    @Override
    public void close() {
        timer.shutdownNow();
    }
}
