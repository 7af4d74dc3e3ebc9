package io.rdmashuffle.it.bench.tpcds;

import io.rdmashuffle.it.bench.Ratio;
import io.rdmashuffle.it.cli.Progress;
import io.rdmashuffle.it.demo.Contest;
import io.rdmashuffle.it.demo.QueryComparison;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs queries on both applications, each some times in turn, and those where ours was slower some times more.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> the contest is the bench's.
 */
final class TpcdsRun {
    private final Contest contest;
    private final TpcdsOptions options;
    private final Progress progress;
    private final Results kept;

    /** Takes all results so far, after each query. */
    interface Results {
        void accept(List<QueryResult> soFar) throws IOException;
    }

    TpcdsRun(Contest contest, TpcdsOptions options, Progress progress, Results kept) {
        this.contest = contest;
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
            contest.warmUp(query);
            contest.dropShuffles();
        }
        List<QueryComparison> rounds = new ArrayList<>();
        boolean equal = true;
        for (int i = 1; equal && i <= count; i++) {
            progress.starting(query + ", round " + i);
            QueryComparison round = contest.compare(query);
            contest.dropShuffles();
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
