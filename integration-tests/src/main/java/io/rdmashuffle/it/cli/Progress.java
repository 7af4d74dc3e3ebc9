package io.rdmashuffle.it.cli;

import java.io.PrintStream;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/**
 * Says what a long command is doing: a bar on a terminal, a line a step elsewhere.
 *
 * <p><b>Threading:</b> one thread; the bar redraws itself on its own. <b>Ownership:</b> closing removes the bar.
 */
public final class Progress implements AutoCloseable {
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
    public Progress(PrintStream out, String steps, int total) {
        this.out = out;
        this.total = total;
        // Set by the scripts of bin/, which can tell whether standard error is a terminal.
        boolean terminal = Boolean.getBoolean("rdmashuffle.terminal");
        this.bar = terminal
                ? new ProgressBarBuilder()
                        .setTaskName(steps)
                        .setInitialMax(total)
                        .setStyle(ProgressBarStyle.ASCII)
                        .clearDisplayOnFinish()
                        .build()
                : null;
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
