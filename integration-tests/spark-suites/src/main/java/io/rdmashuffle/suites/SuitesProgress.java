// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.cli.TerminalBar;
import io.rdmashuffle.suites.SuiteEvent.Kind;
import java.io.PrintStream;
import java.util.List;
import java.util.concurrent.TimeUnit;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;

/**
 * Shows which suite and test is running: a bar on a terminal; elsewhere a line when a suite starts and ends, and one a
 * minute.
 *
 * <p><b>Threading:</b> one thread; the bar redraws itself on its own. <b>Ownership:</b> closing removes the bar.
 */
final class SuitesProgress implements AutoCloseable {
    private static final long LINE_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final PrintStream out;
    private final int total;
    private final @Nullable ProgressBar bar;
    private int started;
    private String suite = "";
    private long startedNanos;
    private long saidNanos;

    SuitesProgress(PrintStream out, int total) {
        this.out = out;
        this.total = total;
        this.bar = TerminalBar.start("suites", total);
    }

    void starting(Suite next) {
        started++;
        suite = next.name();
        startedNanos = System.nanoTime();
        saidNanos = startedNanos;
        if (bar == null) {
            out.printf("[%d/%d] %s%n", started, total, suite);
        } else {
            bar.setExtraMessage(" " + suite);
        }
    }

    /** Called now and then with all events so far. */
    void running(List<SuiteEvent> events) {
        long now = System.nanoTime();
        if (bar == null && now - saidNanos < LINE_NANOS) {
            return;
        }
        saidNanos = now;
        long ended = events.stream()
                .filter(event -> event.kind() == Kind.PASSED || event.kind() == Kind.FAILED)
                .count();
        String text = String.format(
                "%s: %d tests in %d s%s",
                suite,
                ended,
                TimeUnit.NANOSECONDS.toSeconds(now - startedNanos),
                RunningTest.of(events).map(test -> ", now '" + test + "'").orElse(""));
        if (bar == null) {
            out.println("  " + text);
        } else {
            bar.setExtraMessage(" " + text);
        }
    }

    void finished(SuiteResult result) {
        String line = String.format(
                "%s: %d passed, %d failed, %d exempt, %d skipped, %d s%s",
                suite,
                result.passed(),
                result.failed().size(),
                result.exempt().size(),
                result.skipped().size(),
                result.seconds(),
                result.problems().isEmpty() ? "" : "; " + String.join("; ", result.problems()));
        if (bar == null) {
            out.println("  " + line);
        } else {
            bar.step();
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }
}
