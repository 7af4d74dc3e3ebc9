// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import com.codahale.metrics.Snapshot;
import io.rdmashuffle.fabric.Latencies;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;

/**
 * Latencies as Dropwizard's sinks ask for them, in microseconds.
 *
 * <p><b>Threading:</b> immutable.
 */
final class LatencySnapshot extends Snapshot {
    private final Latencies latencies;
    private final long[] counts;

    LatencySnapshot(Latencies latencies) {
        this.latencies = latencies;
        this.counts = latencies.counts();
    }

    @Override
    public double getValue(double quantile) {
        return latencies.quantileMicros(quantile);
    }

    /** Returns one value for each range that has any; how many it has is not in there. */
    @Override
    public long[] getValues() {
        long[] values = new long[size()];
        int next = 0;
        for (int i = 0; i < counts.length; i++) {
            if (counts[i] > 0) {
                values[next++] = Latencies.endMicros(i);
            }
        }
        return values;
    }

    @Override
    public int size() {
        int ranges = 0;
        for (long count : counts) {
            ranges += count > 0 ? 1 : 0;
        }
        return ranges;
    }

    @Override
    public long getMax() {
        return latencies.quantileMicros(1);
    }

    @Override
    public long getMin() {
        return latencies.quantileMicros(0);
    }

    @Override
    public double getMean() {
        double sum = 0;
        for (int i = 0; i < counts.length; i++) {
            sum += (double) counts[i] * Latencies.endMicros(i);
        }
        return sum == 0 ? 0 : sum / latencies.total();
    }

    @Override
    public double getStdDev() {
        double mean = getMean();
        double squares = 0;
        for (int i = 0; i < counts.length; i++) {
            double distance = Latencies.endMicros(i) - mean;
            squares += counts[i] * distance * distance;
        }
        return squares == 0 ? 0 : Math.sqrt(squares / latencies.total());
    }

    @Override
    public void dump(OutputStream output) {
        PrintWriter out = new PrintWriter(output, false, StandardCharsets.UTF_8);
        for (long value : getValues()) {
            out.println(value);
        }
        out.flush();
    }
}
