package io.rdmashuffle.it.demo;

import java.io.PrintStream;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/**
 * Says what the demo is doing: a bar on a terminal, a line a query elsewhere.
 *
 * <p><b>Threading:</b> one thread; the bar redraws itself on its own. <b>Ownership:</b> closing removes the bar.
 */
final class Progress implements AutoCloseable {
    private final PrintStream out;
    private final int total;
    private final @Nullable ProgressBar bar;
    private int done;

    Progress(PrintStream out, int total) {
        this.out = out;
        this.total = total;
        // Set by bin/demo, which can tell whether standard error is a terminal.
        boolean terminal = Boolean.getBoolean("rdmashuffle.terminal");
        this.bar = terminal
                ? new ProgressBarBuilder()
                        .setTaskName("queries")
                        .setInitialMax(total)
                        .setStyle(ProgressBarStyle.ASCII)
                        .clearDisplayOnFinish()
                        .build()
                : null;
    }

    void starting(String what) {
        if (bar != null) {
            bar.setExtraMessage(" " + what);
        }
    }

    void finished(QueryComparison query) {
        done++;
        if (bar != null) {
            bar.step();
        } else {
            out.printf(
                    "[%d/%d] %s: %s, sort %d ms, ours %d ms%n",
                    done,
                    total,
                    query.name(),
                    query.verdict().label(),
                    query.sort().millis(),
                    query.ours().millis());
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }
}
