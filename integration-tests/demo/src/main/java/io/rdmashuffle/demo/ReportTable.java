// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.harness.cli.ReadableBytes;
import io.rdmashuffle.harness.cli.TextTable;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.Locale;

/** The report as text for a terminal. */
final class ReportTable {
    private ReportTable() {}

    static String render(DemoReport report) {
        TextTable<QueryComparison> table = new TextTable<QueryComparison>()
                .text("query", QueryComparison::name)
                .number("rows", query -> Long.toString(query.sort().rows()))
                .text("equal", query -> query.verdict().label())
                .number("sort ms", query -> Long.toString(query.sort().millis()))
                .number(
                        report.fabric() + " ms",
                        query -> Long.toString(query.ours().millis()))
                .number("sort/" + report.fabric(), query -> String.format(Locale.ROOT, "%.2f", query.ratio()));
        for (ShuffleCounter path : DemoReport.PATHS) {
            table.number(
                    path.label(), query -> ReadableBytes.format(query.counters().getOrDefault(path.label(), 0L)));
        }
        return table.number(
                        "shuffle read",
                        query -> ReadableBytes.format(query.sort().shuffleReadBytes()))
                .render(report.queries());
    }
}
