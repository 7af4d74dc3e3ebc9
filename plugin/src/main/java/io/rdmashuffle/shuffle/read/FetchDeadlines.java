// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.text.Quantities;
import java.time.Duration;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Fails fetches in which nothing arrives for too long; one timer thread for an executor.
 *
 * <p><b>Threading:</b> thread-safe. Listeners run on the timer's thread and only put results into a queue.
 *
 * <p><b>Ownership:</b> owns the thread.
 */
public final class FetchDeadlines implements AutoCloseable {
    private final Duration timeout;
    private final ScheduledThreadPoolExecutor timer;

    /** Fails fetches after {@code timeout}. */
    public FetchDeadlines(Duration timeout) {
        this.timeout = timeout;
        this.timer = new ScheduledThreadPoolExecutor(1, new DaemonThreads("deadline"));
        timer.setRemoveOnCancelPolicy(true);
        timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    /**
     * Fails the unanswered blocks of a fetch once no block has arrived for the timeout. A task that has ended ignores
     * the late answers.
     */
    void watch(BlockAnswers answers) {
        if (answers.isComplete()) {
            return;
        }
        check(answers, timeout.toNanos());
    }

    private void check(BlockAnswers answers, long afterNanos) {
        answers.cancelWhenComplete(timer.schedule(
                () -> {
                    long left = timeout.toNanos() - answers.idleNanos();
                    if (left > 0) {
                        check(answers, left);
                    } else {
                        answers.failRest("no answer for " + Quantities.duration(timeout)
                                + " (spark.shuffle.rdma.fetch.timeout)");
                    }
                },
                afterNanos,
                TimeUnit.NANOSECONDS));
    }

    @Override
    public void close() {
        timer.shutdownNow();
    }
}
