// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.ToLongFunction;

/**
 * Measurements of one configuration in one case, of all rounds.
 *
 * <p><b>Threading:</b> one thread.
 */
final class ConfigurationResult {
    private static final double MILLIS = 1_000;
    private static final double GIGABYTE = 1e9;

    private final Map<Form, List<Measurement>> runs = new EnumMap<>(Form.class);
    private final long poolPeakBefore;

    /**
     * Starts without a run.
     *
     * @param poolPeakBefore the greatest use of the pool before this case, of the application's whole life
     */
    ConfigurationResult(long poolPeakBefore) {
        this.poolPeakBefore = poolPeakBefore;
    }

    void add(Form form, Measurement measurement) {
        runs.computeIfAbsent(form, unused -> new ArrayList<>()).add(measurement);
    }

    List<Measurement> runs(Form form) {
        return List.copyOf(runs.getOrDefault(form, List.of()));
    }

    /** Returns a figure of the whole job. */
    Spread figure(ToLongFunction<Measurement> figure) {
        return Spread.of(
                runs(Form.FULL).stream().map(run -> figure.applyAsLong(run)).toList());
    }

    Spread seconds(Form form) {
        return Spread.of(runs(form).stream().map(Measurement::millis).toList()).dividedBy(MILLIS);
    }

    /** Returns what the job takes without its shuffle: the larger of the two floors; empty if they did not run. */
    OptionalDouble floorSeconds() {
        return runs(Form.UNSHUFFLED).isEmpty() || runs(Form.FEW_ROWS).isEmpty()
                ? OptionalDouble.empty()
                : OptionalDouble.of(Math.max(
                        seconds(Form.UNSHUFFLED).median(),
                        seconds(Form.FEW_ROWS).median()));
    }

    /**
     * Returns the time that the shuffle adds; where noise is larger than that, it may be negative. Empty without
     * floors.
     */
    OptionalDouble overheadSeconds() {
        OptionalDouble floor = floorSeconds();
        return floor.isPresent() ? OptionalDouble.of(seconds(Form.FULL).median() - floor.getAsDouble()) : floor;
    }

    Spread cpuSeconds() {
        return figure(Measurement::processorMillis).dividedBy(MILLIS);
    }

    /**
     * Returns processor seconds for each GB of a shuffle whose size is given: the same for all, whoever compresses
     * more.
     */
    double cpuSecondsPerGigabyte(double shuffleBytes) {
        return shuffleBytes > 0 ? cpuSeconds().median() / (shuffleBytes / GIGABYTE) : 0;
    }

    double bytesWritten() {
        return figure(run -> run.tasks().bytesWritten()).median();
    }

    /** Returns whether {@link #poolPeakBytes()} is exact; else an earlier case hid the peak and it is a lower bound. */
    boolean poolPeakIsExact() {
        return highest(ShuffleCounter.POOL_PEAK_BYTES) > poolPeakBefore;
    }

    /**
     * Returns the most memory of the pool in use, all executors together: the manager's peak if this case raised it.
     */
    long poolPeakBytes() {
        return poolPeakIsExact() ? highest(ShuffleCounter.POOL_PEAK_BYTES) : highest(ShuffleCounter.POOL_USED_BYTES);
    }

    private long highest(ShuffleCounter counter) {
        return runs.values().stream()
                .flatMap(List::stream)
                .mapToLong(run -> run.counter(counter))
                .max()
                .orElse(0);
    }

    long failedTasks() {
        return runs.values().stream()
                .flatMap(List::stream)
                .mapToLong(run -> run.tasks().failedTasks())
                .sum();
    }
}
