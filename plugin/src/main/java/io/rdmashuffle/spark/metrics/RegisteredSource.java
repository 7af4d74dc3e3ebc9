// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import java.util.function.Supplier;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.MetricsSystem;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This process's {@link ShuffleSource} in Spark's metrics system, as soon as there is one: on Spark 3.5 the shuffle
 * manager is there first. An application for which that fails does without.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns the registration; {@link #close()} removes it.
 */
public final class RegisteredSource implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RegisteredSource.class);

    private final Supplier<Readings> reader;
    private @Nullable Runnable removal;
    private boolean done;

    /**
     * Prepares.
     *
     * @param reader reads what the metrics show
     */
    public RegisteredSource(Supplier<Readings> reader) {
        this.reader = reader;
    }

    /** Registers if that is possible by now and has not been done; cheap when it has. */
    public synchronized void ensureRegistered() {
        SparkEnv env = done ? null : SparkEnv.get();
        if (env == null) {
            return;
        }
        try {
            MetricsSystem metrics = env.metricsSystem();
            if (metrics != null) {
                done = true;
                ShuffleSource source = new ShuffleSource(reader);
                metrics.registerSource(source);
                removal = () -> metrics.removeSource(source);
            }
        } catch (RuntimeException | LinkageError e) {
            done = true;
            LOG.warn("Metrics of the RDMA shuffle are not shown: Spark's metrics system refused them", e);
        }
    }

    /** Removes the metrics; idempotent. */
    @Override
    public synchronized void close() {
        done = true;
        Runnable remove = removal;
        removal = null;
        if (remove != null) {
            try {
                remove.run();
            } catch (RuntimeException | LinkageError e) {
                LOG.debug("Spark's metrics system did not unregister the metrics", e);
            }
        }
    }
}
