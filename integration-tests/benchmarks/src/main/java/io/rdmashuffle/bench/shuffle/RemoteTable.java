// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.harness.cli.TextTable;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.List;
import java.util.Locale;

/** Cost of reading from other executors, for each reduce task. */
final class RemoteTable {
    private RemoteTable() {}

    static String render(ShuffleReport report) {
        List<CaseResult> measured = report.cases().stream()
                .filter(result -> !result.results().isEmpty())
                .toList();
        return measured.isEmpty() ? "" : table().render(measured);
    }

    private static TextTable<CaseResult> table() {
        TextTable<CaseResult> table = new TextTable<CaseResult>().text("case", CaseResult::name);
        table.number("blocked ms/task", RemoteTable::blocked);
        table.number("garbage KB/task", RemoteTable::garbage);
        table.number("READs/task", result -> perTask(result, ShuffleCounter.READS));
        table.number("doorbells/task", result -> perTask(result, ShuffleCounter.DOORBELLS));
        table.number("completions/task", result -> perTask(result, ShuffleCounter.COMPLETIONS));
        table.number("wake-ups/task", result -> perTask(result, ShuffleCounter.WAKE_UPS));
        table.number("batches/task", result -> perTask(result, ShuffleCounter.FETCH_BATCHES));
        table.number(
                "READs of indexes", result -> Long.toString(Math.round(gained(result, ShuffleCounter.INDEX_READS))));
        table.number(
                "link CPU s",
                result -> decimals(result.of(Configuration.OURS)
                                .figure(run -> run.linkCpuMillis())
                                .median()
                        / 1_000));
        return table;
    }

    private static String blocked(CaseResult result) {
        return each(
                result,
                configuration -> result.of(configuration)
                        .figure(run -> run.tasks().fetchWaitMillis())
                        .median());
    }

    private static String garbage(CaseResult result) {
        return each(
                result,
                configuration -> result.of(configuration)
                                .figure(run -> run.garbageBytes())
                                .median()
                        / 1_000);
    }

    /** A figure of one configuration's whole job. */
    private interface Figure {
        double of(Configuration configuration);
    }

    private static String each(CaseResult result, Figure figure) {
        List<String> figures = List.of(Configuration.values()).stream()
                .map(configuration -> decimals(figure.of(configuration) / tasks(result)))
                .toList();
        return String.join(" / ", figures);
    }

    private static String perTask(CaseResult result, ShuffleCounter counter) {
        return decimals(gained(result, counter) / tasks(result));
    }

    private static double gained(CaseResult result, ShuffleCounter counter) {
        return result.of(Configuration.OURS).figure(run -> run.gained(counter)).median();
    }

    private static int tasks(CaseResult result) {
        return result.benchCase().partitions();
    }

    private static String decimals(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }
}
