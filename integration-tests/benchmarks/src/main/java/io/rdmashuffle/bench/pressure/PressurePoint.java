// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToLongFunction;

/**
 * Result of a case with a pool of one size.
 *
 * @param poolBytes of each executor
 * @param runs of all configurations, or of none if it failed
 * @param error why it failed, or empty
 */
record PressurePoint(
        Transfer transfer,
        BenchCase benchCase,
        PoolShare size,
        long poolBytes,
        Map<Configuration, List<Measurement>> runs,
        String error) {
    private static final double MILLIS = 1_000;

    PressurePoint {
        runs = Map.copyOf(runs);
    }

    /** Returns whether all configurations ran and moved the same records. */
    boolean ok() {
        return error.isEmpty() && disagreements().isEmpty();
    }

    Spread seconds(Configuration configuration) {
        return figure(configuration, Measurement::millis).dividedBy(MILLIS);
    }

    /** Returns sort shuffle's time over ours. */
    OptionalDouble ratio(Configuration sort) {
        return Ratio.of(seconds(sort).median(), seconds(Configuration.OURS).median());
    }

    /** Returns which part of the time of our tasks was spent waiting for room in the pool, of 1. */
    double waitShare() {
        double ran = ours(run -> run.tasks().runMillis()).median();
        return ran > 0
                ? ours(run -> run.gained(ShuffleCounter.POOL_WAIT_MILLIS)).median() / ran
                : 0;
    }

    /** Returns a counter as it was after the job, before its shuffle was dropped. */
    long after(ShuffleCounter counter) {
        return (long) ours(run -> run.counter(counter)).median();
    }

    /** Returns what a job adds to a counter. */
    long gained(ShuffleCounter counter) {
        return (long) ours(run -> run.gained(counter)).median();
    }

    private Spread ours(ToLongFunction<Measurement> figure) {
        return figure(Configuration.OURS, figure);
    }

    private Spread figure(Configuration configuration, ToLongFunction<Measurement> figure) {
        List<Measurement> measured = runs.getOrDefault(configuration, List.of());
        return Spread.of(measured.stream().map(run -> figure.applyAsLong(run)).toList());
    }

    /** Returns how the configurations did not do the same work; empty if ratios may be believed. */
    List<String> disagreements() {
        List<String> found = new ArrayList<>();
        Set<String> outcomes = new TreeSet<>();
        runs.forEach((configuration, measured) -> measured.forEach(run -> {
            long written = run.tasks().recordsWritten();
            outcomes.add(written + " records, checksum " + run.checksum());
            if (run.tasks().recordsRead() != written) {
                found.add(configuration.label() + " wrote " + written + " records and read "
                        + run.tasks().recordsRead());
            }
            if (run.tasks().failedTasks() > 0) {
                found.add(run.tasks().failedTasks() + " tasks failed with " + configuration.label());
            }
        }));
        if (outcomes.size() > 1) {
            found.add("not the same work: " + String.join("; ", outcomes));
        }
        return found.stream().distinct().toList();
    }
}
