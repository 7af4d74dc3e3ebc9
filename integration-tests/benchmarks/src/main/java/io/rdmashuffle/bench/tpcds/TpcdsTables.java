// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.demo.QueryWork.Faults;
import io.rdmashuffle.harness.cli.ReadableBytes;
import io.rdmashuffle.harness.cli.TextTable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The report as text for a terminal: a line a query, then what all of them come to. */
final class TpcdsTables {
    private static final int EXTREMES = 10;

    private TpcdsTables() {}

    static String render(TpcdsReport report) {
        StringBuilder text = new StringBuilder();
        text.append(times(report).render(report.queries())).append("\n\n");
        text.append(costs(report).render(report.queries())).append("\n\n");
        text.append("s: median (least-greatest); a / b ...: ")
                .append(labels(report))
                .append("; ratios above 1: ours needs less; fastest: the sort shuffle with the least median\n\n");
        means(report).forEach(line -> text.append(line).append('\n'));
        List<QueryResult> below = report.belowGoal();
        List<QueryResult> judged = report.judged();
        text.append(String.format(
                Locale.ROOT,
                "below %.2f by all rounds: %d of %d%s%n",
                TpcdsReport.GOAL,
                below.size(),
                judged.size(),
                below.isEmpty() ? "" : ": " + ratios(below)));
        List<QueryResult> best = new ArrayList<>(judged);
        Collections.reverse(best);
        text.append("best: ").append(ratios(first(best))).append('\n');
        text.append("worst: ").append(ratios(first(judged))).append('\n');
        text.append(tasks(report.reduceTasks())).append('\n');
        for (Configuration each : inOrder(report)) {
            text.append(String.format(
                    Locale.ROOT,
                    "%s: sum of the medians %.1f s; executor time %.0f s; executors killed %d, failed reads %d,"
                            + " map tasks again %d%n",
                    each.label(),
                    report.totalSeconds(each),
                    report.executorSeconds(each),
                    report.faults(each, Faults::killed),
                    report.faults(each, Faults::failedReads),
                    report.faults(each, Faults::mapTasksAgain)));
        }
        for (QueryResult query : report.queries()) {
            if (!query.verdict().equal() || !query.errors().isEmpty()) {
                text.append(String.format("%s: %s %s%n", query.name(), query.verdict(), query.errors()));
            }
        }
        return text.toString().stripTrailing();
    }

    private static List<QueryResult> first(List<QueryResult> queries) {
        return queries.subList(0, Math.min(EXTREMES, queries.size()));
    }

    private static List<String> means(TpcdsReport report) {
        String configurations = report.sorts().stream()
                .map(sort -> sort.label() + " " + Ratio.format(report.geometricMean(sort)))
                .collect(Collectors.joining(", "));
        return List.of(
                "geometric mean of fastest sort / ours: " + Ratio.format(report.geometricMean()) + " over "
                        + report.judged().size() + " queries; by round "
                        + report.meanOfRounds().map(Spread::toString).orElse("-"),
                "against one configuration: " + configurations + "; CPU of the executors, fastest / ours: "
                        + Ratio.format(report.cpuMean()));
    }

    private static String ratios(List<QueryResult> queries) {
        return queries.stream()
                .map(query -> query.name() + " " + ratio(query.ratio()))
                .collect(Collectors.joining(", "));
    }

    private static String tasks(ReduceTasks tasks) {
        List<ReduceTasks.OfQuery> outside = tasks.outside();
        return String.format(
                Locale.ROOT,
                "reduce tasks, ours / sort shuffle that compresses: %.0f / %.0f = %s; outside of %.0f %%: %d of %d%s",
                tasks.ours(),
                tasks.sort(),
                Ratio.format(tasks.ratio()),
                100 * ReduceTasks.TOLERANCE,
                outside.size(),
                tasks.queries().size(),
                outside.isEmpty()
                        ? ""
                        : outside.stream()
                                .map(query -> String.format(
                                        Locale.ROOT, "%s %.0f / %.0f", query.name(), query.ours(), query.sort()))
                                .collect(Collectors.joining(", ", ": ", "")));
    }

    private static TextTable<QueryResult> times(TpcdsReport report) {
        TextTable<QueryResult> table = new TextTable<QueryResult>()
                .text("query", QueryResult::name)
                .number("equal", query -> query.verdict().label())
                .number("rounds", query -> Integer.toString(query.rounds().size()));
        for (Configuration configuration : inOrder(report)) {
            table.number(
                    configuration.label() + " s",
                    query -> query.has(configuration)
                            ? query.seconds(configuration).toString()
                            : "-");
        }
        return table.text(
                        "fastest",
                        query -> query.fastestSort().map(Configuration::label).orElse("-"))
                .number("fastest / ours, by round", query -> ratio(query.ratio()))
                .number("CPU: fastest / ours", query -> ratio(query.cpuRatio()));
    }

    private static TextTable<QueryResult> costs(TpcdsReport report) {
        return new TextTable<QueryResult>()
                .text("query", QueryResult::name)
                .number(
                        "reduce tasks",
                        each(report, (query, of) -> String.format(Locale.ROOT, "%.0f", query.reduceTasks(of))))
                .number("shuffle read", each(report, (query, of) -> ReadableBytes.format(query.bytesRead(of))))
                .number("shuffle written", each(report, (query, of) -> ReadableBytes.format(query.bytesWritten(of))))
                .number("memory", each(report, (query, of) -> ReadableBytes.format(query.memoryBytes(of))));
    }

    private static Function<QueryResult, String> each(
            TpcdsReport report, BiFunction<QueryResult, Configuration, String> figure) {
        return query -> inOrder(report).stream()
                .map(configuration -> query.has(configuration) ? figure.apply(query, configuration) : "-")
                .collect(Collectors.joining(" / "));
    }

    private static String labels(TpcdsReport report) {
        return inOrder(report).stream().map(Configuration::label).collect(Collectors.joining(" / "));
    }

    private static List<Configuration> inOrder(TpcdsReport report) {
        return report.configurations().stream().sorted().toList();
    }

    private static String ratio(Optional<Spread> ratio) {
        return ratio.map(Spread::toString).orElse("-");
    }
}
