// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.reports;

import io.rdmashuffle.harness.cli.Tool;
import java.lang.management.ManagementFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code bin/bench reports}: metrics, events and the tab of the user interface on a driver with many executors. */
@Command(
        name = "bench reports",
        description = {
            "Simulates executors that report to a driver in one process, with the plugin's own messages,"
                    + " metrics, store, events and page. All their counters change between two reports, as in a"
                    + " busy application. Spark's RPC around a message, and writes to a file, are not"
                    + " counted.",
            ""
        },
        exitCodeList = {"0:all was simulated", "1:something failed", "2:an option was wrong"})
public final class ReportBench extends Tool {
    private static final int WARM_UPS = 20;
    private static final int ROUNDS = 50;
    private static final int MAX_EXECUTORS = 20_000;
    private static final double NANOS_PER_MICRO = 1e3;

    @Option(
            names = "--executors",
            paramLabel = "N",
            defaultValue = "1000",
            description = "executors that report (${DEFAULT-VALUE})")
    int executors;

    /** Called by {@code bin/bench reports}. */
    public static void main(String[] args) {
        run(new ReportBench(), args);
    }

    @Override
    public Integer call() throws Exception {
        check(() -> {
            if (executors < 1 || executors > MAX_EXECUTORS) {
                throw new IllegalArgumentException("--executors must be between 1 and " + MAX_EXECUTORS);
            }
        });
        SimulatedReports warmUp = new SimulatedReports(executors);
        for (int i = 0; i < WARM_UPS; i++) {
            warmUp.round();
            warmUp.metrics();
            warmUp.page();
            warmUp.events();
        }
        long empty = used();
        SimulatedReports reports = new SimulatedReports(executors);
        long nanos = cpu(() -> {
            for (int i = 0; i < ROUNDS; i++) {
                reports.round();
            }
        });
        double report = nanos / NANOS_PER_MICRO / ROUNDS / executors;
        double event = cpu(reports::events) / NANOS_PER_MICRO / executors;
        double metrics = cpu(reports::metrics) / NANOS_PER_MICRO;
        double page = cpu(reports::page) / NANOS_PER_MICRO;
        long messages = reports.bytesOfMessages();
        // Both rounds' messages are kept here, and not on a driver.
        double heap = (used() - empty - 2 * messages) / 1e6;
        double perSecond = Math.min(50, executors / 10.0);
        out.printf("%d executors, all counters changing%n", executors);
        out.printf(
                "heap that is kept: %.2f MB (goal: below 10), a page has %.1f KB%n", heap, reports.pageChars() / 1e3);
        out.printf(
                "a report of %d bytes, answered by %d: %.1f us; %.0f a second: %.3f %% of a core%n",
                messages / executors,
                reports.bytesOfAnswers() / ROUNDS / executors,
                report,
                perSecond,
                report * perSecond / 1e4);
        out.printf(
                "an event of %d bytes: %.1f us; one a second: %.4f %% of a core%n",
                reports.bytesOfAnEvent(), event, event / 1e4);
        out.printf("all metrics at once: %.0f us; every 15 s: %.4f %% of a core%n", metrics, metrics / 15e4);
        out.printf("the tab, once: %.0f us%n", page);
        out.printf(
                "sum of background work: %.3f %% of a core (goal: below 1)%n",
                report * perSecond / 1e4 + event / 1e4 + metrics / 15e4);
        return 0;
    }

    private static long cpu(Runnable work) {
        long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        work.run();
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
    }

    private static long used() {
        Runtime runtime = Runtime.getRuntime();
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
