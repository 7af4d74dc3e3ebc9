// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import java.util.Set;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removal of map outputs of shuffles that the driver has unregistered without notifying this executor. After a fetch
 * failure the driver takes the executor for lost until its next heartbeat
 * ({@code DAGScheduler.removeExecutorAndUnregisterOutputs}); a removal in that time does not reach it, and the map
 * outputs would stay in the pool for good.
 *
 * <p><b>Threading:</b> one thread, of a {@link PeriodicWork}.
 *
 * @param held the shuffles of which this executor holds or knows something
 * @param removed which of those the driver has removed
 * @param remove removes one here
 */
record RemovedShuffleCleaner(Supplier<Set<Integer>> held, UnaryOperator<Set<Integer>> removed, IntConsumer remove)
        implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(RemovedShuffleCleaner.class);

    /** Asks the driver once. */
    @Override
    public void run() {
        try {
            for (int shuffleId : removed.apply(held.get())) {
                LOG.info("Removing map outputs of shuffle {}: unregistered at the driver", shuffleId);
                remove.accept(shuffleId);
            }
        } catch (RuntimeException | Error e) {
            LOG.warn("Cannot remove map outputs of unregistered shuffles; retrying later", e);
        }
    }
}
