// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.text.Quantities;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Periodic background work of an executor, independent of tasks: upkeep of the pool, sweeps, reports.
 *
 * <p><b>Threading:</b> one daemon thread, which runs the duties given, one after another.
 *
 * <p><b>Ownership:</b> owns the thread.
 */
final class PeriodicWork implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeriodicWork.class);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
    private static final Duration LONGEST_INTERVAL = Duration.ofSeconds(15);

    private final String role;
    private final List<Runnable> duties;
    private final ScheduledExecutorService timer;

    /**
     * Runs the duties at every interval from now on; one that fails is tried again then.
     *
     * @param role part of the thread's name
     */
    PeriodicWork(String role, List<Runnable> duties, Duration interval) {
        this.role = role;
        this.duties = List.copyOf(duties);
        this.timer = Executors.newSingleThreadScheduledExecutor(new DaemonThreads(role));
        var unused = timer.scheduleWithFixedDelay(
                this::runAll, interval.toNanos(), interval.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Returns the interval of checks for an idle timeout, so that they are late by at most a quarter. */
    static Duration intervalFor(Duration idleTimeout) {
        Duration quarter = idleTimeout.dividedBy(4);
        return quarter.compareTo(LONGEST_INTERVAL) < 0 ? quarter : LONGEST_INTERVAL;
    }

    private void runAll() {
        for (Runnable duty : duties) {
            try {
                duty.run();
            } catch (RuntimeException | Error e) {
                // It would end the schedule, and be seen by no one.
                LOG.warn("Background work '{}' failed; it runs again at its next interval", role, e);
            }
        }
    }

    /** Ends a duty that is running, waiting for it a few seconds at most. Idempotent. */
    @Override
    public void close() {
        timer.shutdownNow();
        try {
            if (!timer.awaitTermination(CLOSE_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS)) {
                LOG.warn("Background work '{}' is still running after {}", role, Quantities.duration(CLOSE_TIMEOUT));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
