// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.cli.TextTable;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToLongFunction;

/** Text report: a table, then the names of failed tests. */
final class SuitesReport {
    private SuitesReport() {}

    static void print(
            PrintStream out, ShuffleMode fabric, List<SuiteResult> results, Exemptions exemptions, Path logs) {
        out.println(table(results));
        out.println(
                "shuffles: by the manager that served them; 'fell back': shuffles that a setting of the suite moves to"
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
        TextTable<SuiteResult> table = new TextTable<SuiteResult>()
                .text("suite", result -> result.suite().name() + (result.suite().isReplacement() ? "*" : ""));
        number(table, "passed", SuiteResult::passed);
        number(table, "failed", result -> result.failed().size());
        number(table, "exempt", result -> result.exempt().size());
        number(table, "skipped", result -> result.skipped().size());
        number(table, "s", SuiteResult::seconds);
        number(table, "shuffles: ours", SuiteResult::shufflesOfOurs);
        number(table, "fell back", SuiteResult::shufflesFellBack);
        number(table, "others", SuiteResult::shufflesElsewhere);
        number(table, "map outputs: pool", result -> result.counter(ShuffleCounter.MAP_OUTPUTS_POOLED));
        number(table, "files", result -> result.counter(ShuffleCounter.MAP_OUTPUTS_FILED));
        return table.text("", SuitesReport::verdict).render(results);
    }

    private static String verdict(SuiteResult result) {
        if (!result.acceptable()) {
            return "FAILED";
        }
        return result.shuffles() == 0 ? "ok, made no shuffle" : "ok";
    }

    private static void details(PrintStream out, SuiteResult result, Exemptions exemptions) {
        String name = result.suite().name();
        if (result.suite().isReplacement()) {
            out.println("* " + name + ": " + result.suite().className() + " in its place");
        }
        result.problems().forEach(problem -> out.println("FAILED " + name + ": " + problem));
        for (SuiteEvent failure : result.failed()) {
            out.println("FAILED " + name + ": " + failure.test());
            out.println("       " + failure.message());
        }
        for (SuiteEvent failure : result.exempt()) {
            out.println("exempt " + name + ": " + failure.test());
            exemptions.tests().stream()
                    .filter(exemption -> exemption.test().equals(failure.test()))
                    .forEach(exemption ->
                            out.println("       " + exemption.reason() + " Instead: " + exemption.instead()));
        }
        for (SuiteEvent skipped : result.skipped()) {
            out.println("skipped " + name + ": " + skipped.test() + " (" + skipped.message() + ")");
        }
    }

    private static long sum(List<SuiteResult> results, ToLongFunction<SuiteResult> value) {
        return results.stream().mapToLong(value).sum();
    }

    private static void number(TextTable<SuiteResult> table, String header, ToLongFunction<SuiteResult> value) {
        table.number(header, result -> Long.toString(value.applyAsLong(result)));
    }
}
