package io.rdmashuffle.spark;

import io.rdmashuffle.lifecycle.DaemonThreads;
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
 * Removes shuffles of whose removal this executor was not told. After a fetch failure the driver takes the executor for lost until
 * its next heartbeat ({@code DAGScheduler.removeExecutorAndUnregisterOutputs}); a removal in that time goes past it, and a pool
 * that nobody clears is full one day.
 *
 * <p><b>Threading:</b> one daemon thread, which runs the functions given. <b>Ownership:</b> owns the thread.
 */
final class RemovedShuffleCleaner implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RemovedShuffleCleaner.class);
    private static final Duration END = Duration.ofSeconds(5);

    private final Supplier<Set<Integer>> held;
    private final UnaryOperator<Set<Integer>> removed;
    private final IntConsumer remove;
    private final ScheduledExecutorService timer;

    /**
     * Sweeps at every interval from now on.
     *
     * @param held the shuffles of which something is here
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
        } catch (RuntimeException e) {
            // The timer would not come again.
            LOG.warn("shuffles that were removed elsewhere stay here until the next attempt", e);
        }
    }

    private void sweep() {
        for (int shuffleId : removed.apply(held.get())) {
            LOG.info("shuffle {} is gone, and nobody said so: its map outputs here are removed", shuffleId);
            remove.accept(shuffleId);
        }
    }

    /** Ends a sweep that is under way, waiting for it a few seconds at most. Idempotent. */
    @Override
    public void close() {
        timer.shutdownNow();
        try {
            if (!timer.awaitTermination(END.toNanos(), TimeUnit.NANOSECONDS)) {
                LOG.warn("a sweep for removed shuffles has not ended after {}", END);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
