// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.MetricRegistry;
import com.codahale.metrics.Snapshot;
import com.codahale.metrics.UniformReservoir;
import com.codahale.metrics.WeightedSnapshot;
import com.codahale.metrics.WeightedSnapshot.WeightedSample;
import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.spark.metrics.source.Source;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The metrics of one process for Spark's metrics system and its sinks: a gauge for each {@link ShuffleCounter}, and a
 * histogram of READ latencies. {@code docs/metrics.md} lists them.
 *
 * <p>A sink asks for dozens of values, one after another: all that it asks for within {@value #KEPT_MILLIS} ms come
 * from one reading.
 *
 * <p><b>Threading:</b> thread-safe; sinks have threads of their own.
 */
public final class ShuffleSource implements Source {
    /** The name of the source, which sinks put before those of metrics. */
    public static final String NAME = "rdmaShuffle";

    /** The name of the histogram. */
    public static final String READ_LATENCY = "readLatencyMicros";

    /** Values of the histogram, for documentation. */
    public static final String READ_LATENCY_MEANING = "Histogram of how long READs took, from when they were handed to"
            + " the fabric, connecting included, until their last byte was there; of all that have succeeded since the"
            + " start. Values are the ends of ranges, two for each doubling.";

    private static final Logger LOG = LoggerFactory.getLogger(ShuffleSource.class);
    private static final long KEPT_MILLIS = 500;

    private final Supplier<Readings> reader;
    private final LongSupplier nanoClock;
    private final MetricRegistry registry = new MetricRegistry();
    private @Nullable Readings kept;
    private long keptSince;
    private boolean failed;

    /**
     * Creates gauges over a reader.
     *
     * @param reader reads all counters; called by sinks' threads, one at a time
     */
    public ShuffleSource(Supplier<Readings> reader) {
        this(reader, System::nanoTime);
    }

    ShuffleSource(Supplier<Readings> reader, LongSupplier nanoClock) {
        this.reader = reader;
        this.nanoClock = nanoClock;
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            registry.register(counter.metric(), (Gauge<Long>) () -> readings().get(counter));
        }
        registry.register(READ_LATENCY, new ReadLatency());
    }

    @Override
    public String sourceName() {
        return NAME;
    }

    @Override
    public MetricRegistry metricRegistry() {
        return registry;
    }

    private synchronized Readings readings() {
        Readings last = kept;
        long now = nanoClock.getAsLong();
        if (last == null || now - keptSince > TimeUnit.MILLISECONDS.toNanos(KEPT_MILLIS)) {
            last = read(last == null ? Readings.NONE : last);
            kept = last;
            keptSince = now;
        }
        return last;
    }

    /** A sink that meets an exception may drop all other metrics of the process. */
    private Readings read(Readings before) {
        try {
            return reader.get();
        } catch (RuntimeException e) {
            if (!failed) {
                failed = true;
                LOG.warn("Metrics of the RDMA shuffle are stale: counters cannot be read", e);
            }
            return before;
        }
    }

    /** Histogram that is filled elsewhere. */
    private final class ReadLatency extends Histogram {
        ReadLatency() {
            super(new UniformReservoir(1));
        }

        @Override
        public long getCount() {
            return readings().readLatencies().total();
        }

        @Override
        public Snapshot getSnapshot() {
            return new LatencySnapshot(readings().readLatencies());
        }
    }

    /** Latencies in microseconds: one value for each range that has any, which weighs as much as its count. */
    private static final class LatencySnapshot extends WeightedSnapshot {
        private final Latencies latencies;

        LatencySnapshot(Latencies latencies) {
            super(samples(latencies.counts()));
            this.latencies = latencies;
        }

        private static List<WeightedSample> samples(long[] counts) {
            return IntStream.range(0, counts.length)
                    .filter(range -> counts[range] > 0)
                    .mapToObj(range -> new WeightedSample(Latencies.endMicros(range), counts[range]))
                    .toList();
        }

        @Override
        public double getValue(double quantile) {
            return latencies.quantileMicros(quantile);
        }
    }
}
