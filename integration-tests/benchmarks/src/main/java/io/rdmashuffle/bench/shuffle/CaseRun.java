// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Turns;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.BenchJob;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Runs cases on all configurations in turn, who begin by turns; only one of them works at a time.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> the applications are the bench's.
 */
final class CaseRun {
    private final int rounds;
    private final List<Form> forms;
    private final StepProgress progress;
    private final Turns<Map.Entry<Configuration, Jobs>> turns;
    private long poolPeak;

    /** Runs the jobs of one configuration, in an application of its own. */
    @FunctionalInterface
    interface Jobs {
        Measurement run(BenchJob job) throws IOException, InterruptedException;
    }

    /**
     * Prepares to run.
     *
     * @param forms what of each job is measured
     */
    CaseRun(Map<Configuration, Jobs> configurations, int rounds, List<Form> forms, StepProgress progress) {
        this.rounds = rounds;
        this.forms = List.copyOf(forms);
        this.progress = progress;
        this.turns = new Turns<>(configurations.entrySet());
    }

    /** Runs a case; a failure is its result, for as long as the other cases can be run. */
    CaseResult run(BenchCase benchCase, long askedRows, int warmups) throws InterruptedException {
        long rows = benchCase.rows(askedRows);
        long peakBefore = poolPeak;
        Map<Configuration, ConfigurationResult> results = empty(peakBefore);
        try {
            for (int i = 0; i < warmups; i++) {
                // Their peak of the pool counts, their time does not.
                round(benchCase, askedRows, "warm-up", List.of(Form.FULL, Form.UNSHUFFLED), empty(peakBefore));
            }
            for (int i = 1; i <= rounds; i++) {
                round(benchCase, askedRows, "round " + i, forms, results);
            }
            return new CaseResult(benchCase, rows, results, "");
        } catch (IOException e) {
            progress.finished(benchCase.name() + " failed: " + e.getMessage());
            return CaseResult.failed(benchCase, rows, String.valueOf(e.getMessage()));
        }
    }

    private static Map<Configuration, ConfigurationResult> empty(long poolPeak) {
        Map<Configuration, ConfigurationResult> results = new EnumMap<>(Configuration.class);
        for (Configuration configuration : Configuration.values()) {
            results.put(configuration, new ConfigurationResult(poolPeak));
        }
        return results;
    }

    private void round(
            BenchCase benchCase,
            long askedRows,
            String what,
            List<Form> forms,
            Map<Configuration, ConfigurationResult> results)
            throws IOException, InterruptedException {
        for (Form form : forms) {
            for (Map.Entry<Configuration, Jobs> entry : turns.next()) {
                Configuration configuration = entry.getKey();
                progress.starting(benchCase.name() + ", " + what + ", " + configuration.label());
                Measurement measured = entry.getValue().run(benchCase.job(form, askedRows));
                poolPeak = Math.max(poolPeak, measured.counter(ShuffleCounter.POOL_PEAK_BYTES));
                ConfigurationResult result = results.get(configuration);
                if (result != null) {
                    result.add(form, measured);
                }
            }
        }
        progress.finished(benchCase.name() + ", " + what + ": " + times(results));
    }

    /** Prints the times of the last runs of the whole job. */
    private static String times(Map<Configuration, ConfigurationResult> results) {
        return results.entrySet().stream()
                .map(entry -> {
                    List<Measurement> runs = entry.getValue().runs(Form.FULL);
                    double seconds = runs.get(runs.size() - 1).millis() / 1_000.0;
                    return String.format(
                            Locale.ROOT, "%s %.2f s", entry.getKey().label(), seconds);
                })
                .collect(Collectors.joining(", "));
    }
}
