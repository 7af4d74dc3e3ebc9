// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.demo.Application;
import io.rdmashuffle.demo.QueryReply;
import io.rdmashuffle.harness.cli.StepProgress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Measures what {@code --subset} goes by: each query with sort shuffle alone.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> the application is the bench's.
 */
final class ShuffleTableRun {
    private static final double MILLIS = 1_000;

    private final Application sort;
    private final TpcdsRun.Counts counts;
    private final StepProgress progress;

    ShuffleTableRun(Application sort, TpcdsRun.Counts counts, StepProgress progress) {
        this.sort = sort;
        this.counts = counts;
        this.progress = progress;
    }

    /** Takes the table so far, after each query. */
    interface Tables {
        void accept(ShuffleTable soFar) throws IOException;
    }

    void run(List<String> queries, Tables kept) throws IOException, InterruptedException {
        List<ShuffleTable.Row> rows = new ArrayList<>();
        for (String query : queries) {
            for (int i = 0; i < counts.warmups(); i++) {
                progress.starting(query + ", warm-up");
                run(query);
            }
            List<Long> bytes = new ArrayList<>();
            List<Long> millis = new ArrayList<>();
            for (int i = 1; i <= counts.rounds(); i++) {
                progress.starting(query + ", round " + i);
                QueryReply reply = run(query);
                bytes.add(reply.work().shuffleWrittenBytes());
                millis.add(reply.cpuMillis());
            }
            ShuffleTable.Row row = new ShuffleTable.Row(
                    query,
                    (long) Spread.of(bytes).median(),
                    Spread.of(millis).dividedBy(MILLIS).median());
            rows.add(row);
            kept.accept(new ShuffleTable(rows));
            progress.finished(row.toString());
        }
    }

    private QueryReply run(String query) throws IOException, InterruptedException {
        QueryReply reply = sort.run(query);
        if (reply.ok()) {
            sort.dropShuffles();
        } else {
            // Spark refuses some at small scales, q90 for a division by zero: it is in the table, and shuffles nothing.
            progress.noted(query + ": " + reply.error());
        }
        return reply;
    }
}
