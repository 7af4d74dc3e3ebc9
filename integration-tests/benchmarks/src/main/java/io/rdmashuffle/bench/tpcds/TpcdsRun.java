// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.demo.Comparison;
import io.rdmashuffle.demo.QueryComparison;
import io.rdmashuffle.harness.cli.StepProgress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs queries on both applications, each some times in turn, and those where ours was slower some times more.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> the comparison is the bench's.
 */
final class TpcdsRun {
    private final Comparison comparison;
    private final TpcdsOptions options;
    private final StepProgress progress;
    private final Results kept;

    /** Takes all results so far, after each query. */
    interface Results {
        void accept(List<QueryResult> soFar) throws IOException;
    }

    TpcdsRun(Comparison comparison, TpcdsOptions options, StepProgress progress, Results kept) {
        this.comparison = comparison;
        this.options = options;
        this.progress = progress;
        this.kept = kept;
    }

    List<QueryResult> run(List<String> queries) throws IOException, InterruptedException {
        List<QueryResult> results = new ArrayList<>();
        for (String query : queries) {
            QueryResult result = new QueryResult(query, rounds(query, options.rounds()));
            results.add(result);
            kept.accept(results);
            progress.finished(line(result));
        }
        for (int i = 0; i < results.size() && options.repeatSlow() > 0; i++) {
            QueryResult result = results.get(i);
            if (result.isBelow(TpcdsReport.SLOW)) {
                results.set(i, result.with(rounds(result.name(), options.repeatSlow())));
                kept.accept(results);
                progress.noted("again: " + line(results.get(i)));
            }
        }
        return results;
    }

    /** Ends early when results differ or a side fails: more rounds would not help. */
    private List<QueryComparison> rounds(String query, int count) throws IOException, InterruptedException {
        for (int i = 0; i < options.warmups(); i++) {
            progress.starting(query + ", warm-up");
            comparison.warmUp(query);
            comparison.dropShuffles();
        }
        List<QueryComparison> rounds = new ArrayList<>();
        boolean equal = true;
        for (int i = 1; equal && i <= count; i++) {
            progress.starting(query + ", round " + i);
            QueryComparison round = comparison.compare(query);
            comparison.dropShuffles();
            rounds.add(round);
            equal = round.verdict().equal();
        }
        return rounds;
    }

    private static String line(QueryResult result) {
        return result.name() + ": " + result.verdict().label() + ", sort " + result.sortSeconds() + " s, ours "
                + result.ourSeconds() + " s, ratio " + Ratio.format(result.totalRatio()) + ", CPU "
                + Ratio.format(result.cpuRatio());
    }
}
