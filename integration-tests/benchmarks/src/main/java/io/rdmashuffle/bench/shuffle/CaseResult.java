// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.bench.jobs.TaskTotals;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Result of a case.
 *
 * @param rows that went in
 * @param results of all configurations, or of none if the case failed
 * @param error why it failed, or empty
 */
record CaseResult(BenchCase benchCase, long rows, Map<Configuration, ConfigurationResult> results, String error) {
    CaseResult {
        results = Map.copyOf(results);
    }

    static CaseResult failed(BenchCase benchCase, long rows, String error) {
        return new CaseResult(benchCase, rows, Map.of(), error);
    }

    ConfigurationResult of(Configuration configuration) {
        ConfigurationResult result = results.get(configuration);
        if (result == null) {
            throw new IllegalStateException("no result from " + configuration.label() + " for " + benchCase.name());
        }
        return result;
    }

    String name() {
        return benchCase.name();
    }

    boolean ok() {
        return error.isEmpty() && disagreements().isEmpty();
    }

    /** Returns sort shuffle's time over ours. */
    OptionalDouble totalRatio(Configuration sort) {
        return Ratio.of(
                of(sort).seconds(Form.FULL).median(),
                of(Configuration.OURS).seconds(Form.FULL).median());
    }

    /** Returns the same for each round, the first against the first; as many rounds as both have. */
    Spread totalRatioOfRounds(Configuration sort) {
        List<Double> ratios = Ratio.ofRounds(millis(sort), millis(Configuration.OURS));
        return Spread.of(ratios.isEmpty() ? List.of(Double.NaN) : ratios);
    }

    private List<Long> millis(Configuration configuration) {
        return of(configuration).runs(Form.FULL).stream()
                .map(Measurement::millis)
                .toList();
    }

    /** Returns the configuration of sort shuffle that took the least time, the one that ratios are judged by. */
    Configuration fastestSort() {
        return Configuration.SORT.stream()
                .min(Comparator.comparingDouble(
                        sort -> of(sort).seconds(Form.FULL).median()))
                .orElseThrow();
    }

    /** Returns the time of sort shuffle's shuffle over that of ours; nothing where one is lost in noise or unknown. */
    OptionalDouble overheadRatio(Configuration sort) {
        return Ratio.of(
                of(sort).overheadSeconds().orElse(0),
                of(Configuration.OURS).overheadSeconds().orElse(0));
    }

    OptionalDouble cpuRatio(Configuration sort) {
        return Ratio.of(
                of(sort).cpuSeconds().median(),
                of(Configuration.OURS).cpuSeconds().median());
    }

    /** Returns the divisor of CPU time for all configurations: the bytes that sort shuffle writes to disk. */
    double referenceBytes() {
        return of(Configuration.SORT_DISK).bytesWritten();
    }

    /** Returns who has no overhead left to divide by, in words; empty if ratios of overhead mean something. */
    List<String> withinNoise() {
        return Stream.of(Configuration.values())
                .filter(configuration -> !results.isEmpty()
                        && of(configuration).overheadSeconds().orElse(1) <= 0)
                .map(configuration -> String.format(
                        Locale.ROOT,
                        "%s: the overhead of %s is within noise (%.2f s), so there is no ratio of it",
                        name(),
                        configuration.label(),
                        of(configuration).overheadSeconds().orElseThrow()))
                .toList();
    }

    /** Returns how the configurations did not do the same work; empty if ratios may be believed. */
    List<String> disagreements() {
        List<String> found = new ArrayList<>();
        if (results.isEmpty()) {
            return found;
        }
        for (Form form : Form.values()) {
            Set<String> outcomes = new TreeSet<>();
            results.forEach((configuration, result) -> result.runs(form).forEach(run -> {
                TaskTotals tasks = run.tasks();
                outcomes.add(tasks.recordsWritten() + " records written, checksum " + run.checksum());
                if (tasks.recordsRead() != tasks.recordsWritten()) {
                    found.add(form + ": " + configuration.label() + " wrote " + tasks.recordsWritten()
                            + " records and read " + tasks.recordsRead());
                }
                if (form == Form.UNSHUFFLED && tasks.recordsWritten() != 0) {
                    found.add("the floor without a shuffle has one with " + configuration.label());
                }
            }));
            if (outcomes.size() > 1) {
                found.add(form + ": not the same work: " + String.join("; ", outcomes));
            }
        }
        results.forEach((configuration, result) -> {
            if (result.failedTasks() > 0) {
                found.add(result.failedTasks() + " tasks failed with " + configuration.label()
                        + ", their time is counted");
            }
        });
        return found.stream().distinct().toList();
    }
}
