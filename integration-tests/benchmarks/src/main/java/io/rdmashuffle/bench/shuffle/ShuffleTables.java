// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.harness.cli.ReadableBytes;
import io.rdmashuffle.harness.cli.TextTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Text report: times and ratios, then costs. */
final class ShuffleTables {
    private ShuffleTables() {}

    static String render(ShuffleReport report) {
        List<CaseResult> measured = report.cases().stream()
                .filter(result -> !result.results().isEmpty())
                .toList();
        StringBuilder text = new StringBuilder();
        if (!measured.isEmpty()) {
            text.append(times().render(measured))
                    .append("\n\n")
                    .append(shares().render(measured))
                    .append("\n\n")
                    .append(costs().render(measured))
                    .append('\n');
        }
        for (CaseResult result : report.cases()) {
            result.withinNoise().forEach(line -> text.append(line).append('\n'));
            if (!result.error().isEmpty()) {
                text.append(result.name())
                        .append(" FAILED: ")
                        .append(result.error())
                        .append('\n');
            }
            result.disagreements()
                    .forEach(line -> text.append(result.name())
                            .append(" DISAGREES: ")
                            .append(line)
                            .append('\n'));
        }
        return text.toString().stripTrailing();
    }

    private static TextTable<CaseResult> times() {
        TextTable<CaseResult> table = names();
        for (Configuration configuration : Configuration.values()) {
            table.number(
                    configuration.label() + " s",
                    result -> result.of(configuration).seconds(Form.FULL).toString());
        }
        table.number("total / ours", result -> ratios(result::totalRatio));
        table.text("fastest", result -> result.fastestSort().label());
        table.number(
                "fastest / ours, by round",
                result -> result.totalRatioOfRounds(result.fastestSort()).toString());
        return table;
    }

    private static TextTable<CaseResult> shares() {
        TextTable<CaseResult> table = names();
        table.number("overhead s", result -> each(result, of -> Ratio.format(of.overheadSeconds())));
        table.number("overhead / ours", result -> ratios(result::overheadRatio));
        table.number("CPU / ours", result -> ratios(result::cpuRatio));
        return table;
    }

    /** The ratios of sort shuffle's configurations, in their order. */
    private static String ratios(Function<Configuration, OptionalDouble> ratio) {
        return Configuration.SORT.stream()
                .map(sort -> Ratio.format(ratio.apply(sort)))
                .collect(Collectors.joining(" / "));
    }

    private static TextTable<CaseResult> costs() {
        TextTable<CaseResult> table = names();
        table.number(
                "CPU s", result -> each(result, of -> decimals(of.cpuSeconds().median())));
        table.number(
                "CPU s/GB", result -> each(result, of -> decimals(of.cpuSecondsPerGigabyte(result.referenceBytes()))));
        table.number("written", result -> each(result, of -> ReadableBytes.format((long) of.bytesWritten())));
        table.number(
                "GC s",
                result -> each(
                        result,
                        of -> decimals(of.figure(run -> run.tasks().gcMillis()).median() / 1_000)));
        table.number(
                "garbage",
                result -> each(
                        result,
                        of -> ReadableBytes.format(
                                (long) of.figure(Measurement::garbageBytes).median())));
        table.number(
                "memory",
                result -> each(
                        result,
                        of -> ReadableBytes.format(
                                (long) of.figure(Measurement::memoryBytes).median())));
        table.number("pool peak", ShuffleTables::poolPeak);
        return table;
    }

    private static String poolPeak(CaseResult result) {
        ConfigurationResult ours = result.of(Configuration.OURS);
        return (ours.poolPeakIsExact() ? "" : ">= ") + ReadableBytes.format(ours.poolPeakBytes());
    }

    /** All configurations' figures in their order. */
    private static String each(CaseResult result, Function<ConfigurationResult, String> figure) {
        List<String> figures = new ArrayList<>();
        for (Configuration configuration : Configuration.values()) {
            figures.add(figure.apply(result.of(configuration)));
        }
        return String.join(" / ", figures);
    }

    private static String decimals(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    private static TextTable<CaseResult> names() {
        return new TextTable<CaseResult>().text("case", CaseResult::name);
    }
}
