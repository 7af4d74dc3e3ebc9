// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import com.codahale.metrics.Histogram;
import com.codahale.metrics.Metric;
import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class ShuffleSourceTest {
    private final AtomicLong clock = new AtomicLong();
    private final AtomicInteger readings = new AtomicInteger();
    private final Map<ShuffleCounter, Long> counters = new EnumMap<>(ShuffleCounter.class);
    private boolean broken;

    private final ShuffleSource source = new ShuffleSource(this::read, clock::get);

    private Readings read() {
        readings.incrementAndGet();
        if (broken) {
            throw new IllegalStateException("no pool");
        }
        long[] latencies = new long[Latencies.BUCKETS];
        latencies[5] = 99; // 4 to 6 us
        latencies[7] = 1; // 8 to 12 us
        return Readings.of(counters, Latencies.of(latencies));
    }

    private Object value(ShuffleCounter counter) {
        return Objects.requireNonNull(source.metricRegistry().getGauges().get(counter.metric()))
                .getValue();
    }

    @Test
    void hasAMetricForEachCounterAndTheLatencies() {
        assertThat(source.metricRegistry().getNames())
                .containsAll(Arrays.stream(ShuffleCounter.values())
                        .map(ShuffleCounter::metric)
                        .toList())
                .contains(ShuffleSource.READ_LATENCY)
                .hasSize(ShuffleCounter.values().length + 1);
    }

    @Test
    void sinkReadsOneConsistentSnapshot() {
        counters.put(ShuffleCounter.SHM_BYTES, 7L);
        for (Metric metric : source.metricRegistry().getMetrics().values()) {
            assertThat(metric).isNotNull();
        }
        assertThat(value(ShuffleCounter.SHM_BYTES)).isEqualTo(7L);
        assertThat(value(ShuffleCounter.VERBS_BYTES)).isEqualTo(0L);
        assertThat(readings).hasValue(1);

        counters.put(ShuffleCounter.SHM_BYTES, 8L);
        assertThat(value(ShuffleCounter.SHM_BYTES)).isEqualTo(7L);
        clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(value(ShuffleCounter.SHM_BYTES)).isEqualTo(8L);
    }

    @Test
    void countersThatCannotBeReadLeaveTheLastValues() {
        counters.put(ShuffleCounter.SHM_BYTES, 7L);
        assertThat(value(ShuffleCounter.SHM_BYTES)).isEqualTo(7L);
        broken = true;
        clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(value(ShuffleCounter.SHM_BYTES)).isEqualTo(7L);
    }

    @Test
    void latenciesAreAHistogram() {
        Histogram histogram =
                Objects.requireNonNull(source.metricRegistry().getHistograms().get(ShuffleSource.READ_LATENCY));
        assertThat(histogram.getCount()).isEqualTo(100);
        assertThat(histogram.getSnapshot().getMedian()).isEqualTo(6);
        assertThat(histogram.getSnapshot().get99thPercentile()).isEqualTo(6);
        assertThat(histogram.getSnapshot().get999thPercentile()).isEqualTo(12);
        assertThat(histogram.getSnapshot().getMax()).isEqualTo(12);
        assertThat(histogram.getSnapshot().getMin()).isEqualTo(6);
        assertThat(histogram.getSnapshot().getMean()).isBetween(6.0, 6.1);
        assertThat(histogram.getSnapshot().getStdDev()).isBetween(0.5, 0.7);
    }
}
