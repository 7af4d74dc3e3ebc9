// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.text.Quantities;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes map outputs of shuffles that the driver has unregistered without this executor hearing of it. After a fetch
 * failure the driver takes the executor for lost until its next heartbeat ({@code
 * DAGScheduler.removeExecutorAndUnregisterOutputs}); a removal in that time does not reach it, and the map outputs
 * would stay in the pool for good.
 *
 * <p><b>Threading:</b> one daemon thread, which runs the functions given. <b>Ownership:</b> owns the thread.
 */
final class RemovedShuffleCleaner implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RemovedShuffleCleaner.class);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final Supplier<Set<Integer>> held;
    private final UnaryOperator<Set<Integer>> removed;
    private final IntConsumer remove;
    private final ScheduledExecutorService timer;

    /**
     * Asks the driver at every interval from now on.
     *
     * @param held the shuffles of which this executor holds or knows something
     * @param removed which of those the driver has removed
     * @param remove removes one here
     */
    RemovedShuffleCleaner(
            Supplier<Set<Integer>> held, UnaryOperator<Set<Integer>> removed, IntConsumer remove, Duration interval) {
        this.held = held;
        this.removed = removed;
        this.remove = remove;
        this.timer = Executors.newSingleThreadScheduledExecutor(new DaemonThreads("sweep"));
        var unused = timer.scheduleWithFixedDelay(
                this::sweepOrLog, interval.toNanos(), interval.toNanos(), TimeUnit.NANOSECONDS);
    }

    private void sweepOrLog() {
        try {
            sweep();
        } catch (RuntimeException | Error e) {
            // It would end the schedule, and be seen by no one.
            LOG.warn("Cannot remove map outputs of unregistered shuffles; trying again later", e);
        }
    }

    private void sweep() {
        for (int shuffleId : removed.apply(held.get())) {
            LOG.info("Removing map outputs of shuffle {}: unregistered at the driver", shuffleId);
            remove.accept(shuffleId);
        }
    }

    /** Ends a removal that is running, waiting for it a few seconds at most. Idempotent. */
    @Override
    public void close() {
        timer.shutdownNow();
        try {
            if (!timer.awaitTermination(CLOSE_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS)) {
                LOG.warn(
                        "The removal of unregistered shuffles is still running after {}",
                        Quantities.duration(CLOSE_TIMEOUT));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
