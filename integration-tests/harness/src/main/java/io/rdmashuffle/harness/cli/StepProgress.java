// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.cli;

import java.io.PrintStream;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;

/**
 * Progress of a long command: a bar on a terminal, a line per step elsewhere.
 *
 * <p><b>Threading:</b> one thread; the bar redraws itself on its own. <b>Ownership:</b> closing removes the bar.
 */
public final class StepProgress implements AutoCloseable {
    private final PrintStream out;
    private final int total;
    private final @Nullable ProgressBar bar;
    private int done;

    /**
     * Begins.
     *
     * @param steps unit, such as "queries"
     * @param total total number of steps
     */
    public StepProgress(PrintStream out, String steps, int total) {
        this.out = out;
        this.total = total;
        this.bar = TerminalBar.start(steps, total);
    }

    /** Sets the current step; only the bar shows it. */
    public void starting(String what) {
        if (bar != null) {
            bar.setExtraMessage(" " + what);
        }
    }

    /** Counts a step; the line is shown where there is no bar. */
    public void finished(String line) {
        done++;
        if (bar != null) {
            bar.step();
        } else {
            out.printf("[%d/%d] %s%n", done, total, line);
        }
    }

    /** Prints a note that is not a step, beside the bar. */
    public void noted(String line) {
        if (bar != null) {
            bar.setExtraMessage(" " + line);
        } else {
            out.println(line);
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }
}
