// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.cli;

import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/**
 * The progress bar of a command whose standard error is a terminal.
 *
 * <p><b>Threading:</b> stateless. <b>Ownership:</b> the bar is the caller's.
 */
public final class TerminalBar {
    private TerminalBar() {}

    /**
     * Starts a bar; returns null where there is no terminal to draw it on.
     *
     * @param steps unit, such as "queries"
     * @param total total number of steps
     */
    public static @Nullable ProgressBar start(String steps, int total) {
        // Set by the scripts of bin/, which can tell whether standard error is a terminal.
        if (!Boolean.getBoolean("rdmashuffle.terminal")) {
            return null;
        }
        return new ProgressBarBuilder()
                .setTaskName(steps)
                .setInitialMax(total)
                .setStyle(ProgressBarStyle.ASCII)
                .clearDisplayOnFinish()
                .build();
    }
}
