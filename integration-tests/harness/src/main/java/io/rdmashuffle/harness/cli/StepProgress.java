// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.cli;

import java.io.PrintStream;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;

/**
 * Says what a long command is doing: a bar on a terminal, a line a step elsewhere.
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
     * @param steps what is counted, such as "queries"
     * @param total how many steps there will be
     */
    public StepProgress(PrintStream out, String steps, int total) {
        this.out = out;
        this.total = total;
        this.bar = TerminalBar.start(steps, total);
    }

    /** Names what is being done now; only the bar shows it. */
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

    /** Says something that is not a step; the bar shows it beside itself. */
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
