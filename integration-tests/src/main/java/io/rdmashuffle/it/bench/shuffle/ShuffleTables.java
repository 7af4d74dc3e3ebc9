package io.rdmashuffle.it.bench.shuffle;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.rdmashuffle.it.bench.Ratio;
import io.rdmashuffle.it.bench.shuffle.BenchJob.Form;
import io.rdmashuffle.it.cli.ByteSize;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/** The report as text for a terminal: times and their ratios, then what they cost. */
final class ShuffleTables {
    private ShuffleTables() {}

    static String render(ShuffleReport report) {
        List<CaseResult> measured = report.cases().stream()
                .filter(result -> !result.results().isEmpty())
                .toList();
        StringBuilder text = new StringBuilder();
        if (!measured.isEmpty()) {
            text.append(table(measured, times()))
                    .append("\n\n")
                    .append(table(measured, costs()))
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

    private static String table(List<CaseResult> cases, List<ColumnData<CaseResult>> columns) {
        return AsciiTable.getTable(AsciiTable.BASIC_ASCII_NO_DATA_SEPARATORS, cases, columns);
    }

    private static List<ColumnData<CaseResult>> times() {
        List<ColumnData<CaseResult>> columns = names();
        for (Contender contender : Contender.values()) {
            columns.add(number(
                    contender.label() + " s",
                    result -> result.of(contender).seconds(Form.FULL).toString()));
        }
        columns.add(number("total disk/ours", result -> Ratio.format(result.totalRatio(Contender.SORT_DISK))));
        columns.add(number("total tmpfs/ours", result -> Ratio.format(result.totalRatio(Contender.SORT_TMPFS))));
        columns.add(number("overhead s", result -> each(result, of -> decimals(of.overheadSeconds()))));
        columns.add(number("overhead disk/ours", result -> Ratio.format(result.overheadRatio(Contender.SORT_DISK))));
        columns.add(number("overhead tmpfs/ours", result -> Ratio.format(result.overheadRatio(Contender.SORT_TMPFS))));
        columns.add(number("CPU disk/ours", result -> Ratio.format(result.cpuRatio(Contender.SORT_DISK))));
        columns.add(number("CPU tmpfs/ours", result -> Ratio.format(result.cpuRatio(Contender.SORT_TMPFS))));
        return columns;
    }

    private static List<ColumnData<CaseResult>> costs() {
        List<ColumnData<CaseResult>> columns = names();
        columns.add(number(
                "CPU s", result -> each(result, of -> decimals(of.cpuSeconds().median()))));
        columns.add(number(
                "CPU s/GB", result -> each(result, of -> decimals(of.cpuSecondsPerGigabyte(result.referenceBytes())))));
        columns.add(number("written", result -> each(result, of -> ByteSize.format((long) of.bytesWritten()))));
        columns.add(number(
                "GC s",
                result -> each(
                        result,
                        of -> decimals(of.figure(run -> run.tasks().gcMillis()).median() / 1_000))));
        columns.add(number(
                "garbage",
                result -> each(
                        result,
                        of -> ByteSize.format(
                                (long) of.figure(Measurement::garbageBytes).median()))));
        columns.add(number("pool peak", ShuffleTables::poolPeak));
        return columns;
    }

    private static String poolPeak(CaseResult result) {
        ContenderResult ours = result.of(Contender.OURS);
        return (ours.poolPeakIsExact() ? "" : ">= ") + ByteSize.format(ours.poolPeakBytes());
    }

    /** The three contenders' figures in their order. */
    private static String each(CaseResult result, Function<ContenderResult, String> figure) {
        List<String> figures = new ArrayList<>();
        for (Contender contender : Contender.values()) {
            figures.add(figure.apply(result.of(contender)));
        }
        return String.join(" / ", figures);
    }

    private static String decimals(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    private static List<ColumnData<CaseResult>> names() {
        List<ColumnData<CaseResult>> columns = new ArrayList<>();
        columns.add(new Column().header("case").dataAlign(HorizontalAlign.LEFT).with(CaseResult::name));
        return columns;
    }

    private static ColumnData<CaseResult> number(String header, Function<CaseResult, String> value) {
        return new Column()
                .header(header)
                .headerAlign(HorizontalAlign.RIGHT)
                .dataAlign(HorizontalAlign.RIGHT)
                .with(value);
    }
}
