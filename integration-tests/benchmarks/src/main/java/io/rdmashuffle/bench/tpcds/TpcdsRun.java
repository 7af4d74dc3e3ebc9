// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.harness.cli.StepProgress;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Runs queries on all configurations in turn, and repeats queries whose rounds are on both sides of the goal.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> the runner is the bench's.
 */
final class TpcdsRun {
    /** After a start the JVMs must compile Spark itself, for which one round is not enough. */
    private static final int WARMUPS_AFTER_START = 3;

    private final QueryRunner runner;
    private final Counts counts;
    private final StepProgress progress;
    private final Results kept;

    /**
     * Repetitions of a query.
     *
     * @param starts of all applications; each has the warm-ups and the rounds
     * @param warmups that are not counted
     * @param rounds that each query has
     * @param repeatUnclear that those have in addition of which the rounds lie on both sides of the goal
     * @param pause after each round
     */
    record Counts(int starts, int warmups, int rounds, int repeatUnclear, Duration pause) {}

    /** Takes all results so far, after each query. */
    interface Results {
        void accept(List<QueryResult> soFar) throws IOException;
    }

    TpcdsRun(QueryRunner runner, Counts counts, StepProgress progress, Results kept) {
        this.runner = runner;
        this.counts = counts;
        this.progress = progress;
        this.kept = kept;
    }

    List<QueryResult> run(List<String> queries) throws IOException, InterruptedException {
        List<QueryResult> results = new ArrayList<>();
        for (String query : queries) {
            results.add(new QueryResult(query, rounds(query, counts.rounds())));
            finished(results, results.size() - 1);
        }
        for (int start = 1; start < counts.starts(); start++) {
            runner.restart();
            for (int i = 0; i < results.size(); i++) {
                QueryResult result = results.get(i);
                if (result.isWorthRepeating()) {
                    results.set(i, result.with(rounds(result.name(), counts.rounds())));
                }
                finished(results, i);
            }
        }
        for (int i = 0; i < results.size() && counts.repeatUnclear() > 0; i++) {
            QueryResult result = results.get(i);
            if (result.isUnclear(TpcdsReport.GOAL)) {
                results.set(i, result.with(rounds(result.name(), counts.repeatUnclear())));
                kept.accept(results);
                progress.noted("again: " + line(results.get(i)));
            }
        }
        return results;
    }

    private void finished(List<QueryResult> results, int query) throws IOException {
        kept.accept(results);
        progress.finished(line(results.get(query)));
    }

    /** Ends early when rows differ or a configuration fails: more rounds would not help. */
    private List<QueryRound> rounds(String query, int count) throws IOException, InterruptedException {
        int warmups =
                counts.warmups() > 0 && runner.isCold() ? counts.warmups() + WARMUPS_AFTER_START : counts.warmups();
        for (int i = 0; i < warmups; i++) {
            progress.starting(query + ", warm-up");
            runner.warmUp(query);
        }
        List<QueryRound> rounds = new ArrayList<>();
        boolean goOn = true;
        for (int i = 1; goOn && i <= count; i++) {
            progress.starting(query + ", round " + i);
            QueryRound round = runner.round(query);
            Thread.sleep(counts.pause().toMillis());
            rounds.add(round);
            goOn = round.isWorthRepeating();
        }
        return rounds;
    }

    private static String line(QueryResult result) {
        StringBuilder line =
                new StringBuilder(result.name() + ": " + result.verdict().label());
        for (Configuration configuration : Configuration.values()) {
            if (result.has(configuration)) {
                line.append(String.format(
                        Locale.ROOT,
                        ", %s %.2f s",
                        configuration.label(),
                        result.seconds(configuration).median()));
            }
        }
        line.append(", fastest / ours ")
                .append(result.ratio().map(Spread::toString).orElse("-"));
        return result.errors().isEmpty()
                ? line.toString()
                : line.append("; ")
                        .append(result.errors())
                        .append(" (limit of a query: --timeout)")
                        .toString();
    }
}
