// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Kills executors of an application on this host, one each time that queries have run for a while.
 *
 * <p><b>Threading:</b> {@link #begin} and {@link #end} are for one thread; it kills on its own.
 */
final class ExecutorKiller {
    private static final Duration TICK = Duration.ofMillis(100);

    private final String applicationId;
    private final long everyNanos;
    private final Random random = new Random(9);
    private final AtomicLong killed = new AtomicLong();
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
    private boolean isRunning;
    private long lastNanos;
    private long ranNanos;

    /**
     * Begins to watch.
     *
     * @param applicationId Spark's name of the application
     * @param every time that queries run between two kills; zero for none
     */
    ExecutorKiller(String applicationId, Duration every) {
        this.applicationId = applicationId;
        this.everyNanos = every.toNanos();
        if (everyNanos > 0) {
            var unused =
                    thread.scheduleWithFixedDelay(this::tick, TICK.toMillis(), TICK.toMillis(), TimeUnit.MILLISECONDS);
        }
    }

    /** A query begins. */
    synchronized void begin() {
        isRunning = true;
        lastNanos = System.nanoTime();
    }

    /** A query has ended. */
    synchronized void end() {
        count();
        isRunning = false;
    }

    /** Returns how many executors it has killed. */
    long killed() {
        return killed.get();
    }

    private void count() {
        long now = System.nanoTime();
        if (isRunning) {
            ranNanos += now - lastNanos;
        }
        lastNanos = now;
    }

    private synchronized void tick() {
        count();
        if (isRunning && ranNanos >= everyNanos) {
            List<ProcessHandle> executors = ProcessHandle.allProcesses()
                    .filter(process ->
                            process.info().commandLine().orElse("").contains(" --app-id " + applicationId + " "))
                    .toList();
            if (!executors.isEmpty()
                    && executors.get(random.nextInt(executors.size())).destroyForcibly()) {
                killed.incrementAndGet();
                ranNanos = 0;
            }
        }
    }

    /** Ends the thread. */
    void close() {
        thread.shutdownNow();
    }
}
