package io.rdmashuffle.it.suites;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.rdmashuffle.it.FabricMode;
import io.rdmashuffle.shuffle.ShuffleCounter;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/** The results as text: a table, then the names of what did not pass. */
final class SuitesReport {
    private SuitesReport() {}

    static void print(
            PrintStream out, FabricMode fabric, List<SuiteResult> results, List<Exemption> exemptions, Path logs) {
        out.println(table(results));
        out.println(
                "shuffles: by the manager that took them; 'fell back' are those that a setting of the suite gives to"
                        + " sort shuffle. Map outputs: of executors that lived when their application stopped.");
        for (SuiteResult result : results) {
            details(out, result, exemptions);
        }
        boolean acceptable = results.stream().allMatch(SuiteResult::acceptable);
        out.printf(
                "%s: %d passed, %d failed, %d exempt, %d skipped; %s%n",
                fabric,
                sum(results, SuiteResult::passed),
                sum(results, result -> result.failed().size()),
                sum(results, result -> result.exempt().size()),
                sum(results, result -> result.skipped().size()),
                acceptable ? "all right" : "NOT all right");
        out.println("logs: " + logs);
    }

    static String table(List<SuiteResult> results) {
        List<ColumnData<SuiteResult>> columns = new ArrayList<>();
        columns.add(new Column()
                .header("suite")
                .dataAlign(HorizontalAlign.LEFT)
                .with(result -> result.suite().name() + (result.suite().isStandIn() ? "*" : "")));
        columns.add(number("passed", SuiteResult::passed));
        columns.add(number("failed", result -> result.failed().size()));
        columns.add(number("exempt", result -> result.exempt().size()));
        columns.add(number("skipped", result -> result.skipped().size()));
        columns.add(number("s", SuiteResult::seconds));
        columns.add(number("shuffles: ours", SuiteResult::shufflesOfOurs));
        columns.add(number("fell back", SuiteResult::shufflesFellBack));
        columns.add(number("others", SuiteResult::shufflesElsewhere));
        columns.add(number("map outputs: pool", result -> result.counter(ShuffleCounter.MAP_OUTPUTS_POOLED)));
        columns.add(number("files", result -> result.counter(ShuffleCounter.MAP_OUTPUTS_FILED)));
        columns.add(new Column().header("").dataAlign(HorizontalAlign.LEFT).with(SuitesReport::verdict));
        return AsciiTable.getTable(AsciiTable.BASIC_ASCII_NO_DATA_SEPARATORS, results, columns);
    }

    private static String verdict(SuiteResult result) {
        if (!result.acceptable()) {
            return "FAILED";
        }
        return result.shuffles() == 0 ? "ok, made no shuffle" : "ok";
    }

    private static void details(PrintStream out, SuiteResult result, List<Exemption> exemptions) {
        String name = result.suite().name();
        if (result.suite().isStandIn()) {
            out.println("* " + name + ": " + result.suite().className() + " in its place");
        }
        result.problems().forEach(problem -> out.println("FAILED " + name + ": " + problem));
        for (SuiteEvent failure : result.failed()) {
            out.println("FAILED " + name + ": " + failure.test());
            out.println("       " + failure.message());
        }
        for (SuiteEvent failure : result.exempt()) {
            out.println("exempt " + name + ": " + failure.test());
            exemptions.stream()
                    .filter(exemption -> exemption.test().equals(failure.test()))
                    .forEach(exemption ->
                            out.println("       " + exemption.reason() + " Instead: " + exemption.equivalent()));
        }
        for (SuiteEvent skipped : result.skipped()) {
            out.println("skipped " + name + ": " + skipped.test() + " (" + skipped.message() + ")");
        }
        result.stale().forEach(test -> out.println("note: " + name + ": '" + test + "' passed; it needs no exemption"));
    }

    private static long sum(List<SuiteResult> results, ToLongFunction<SuiteResult> value) {
        return results.stream().mapToLong(value).sum();
    }

    private static ColumnData<SuiteResult> number(String header, ToLongFunction<SuiteResult> value) {
        return new Column()
                .header(header)
                .headerAlign(HorizontalAlign.RIGHT)
                .dataAlign(HorizontalAlign.RIGHT)
                .with(result -> Long.toString(value.applyAsLong(result)));
    }
}
