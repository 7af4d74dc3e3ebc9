package io.rdmashuffle.shuffle;

import java.time.Duration;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Fails fetches that take too long; one timer thread for an executor.
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
        this.timer = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "rdma-deadline-0");
            thread.setDaemon(true);
            return thread;
        });
        timer.setRemoveOnCancelPolicy(true);
        timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    /** Fails what is still unanswered when the time is up. A task that has ended ignores the late answers. */
    void watch(BlockAnswers answers) {
        if (answers.isComplete()) {
            return;
        }
        answers.cancelWhenComplete(timer.schedule(
                () -> answers.failRest("no answer within " + timeout + " (spark.shuffle.rdma.fetch.timeout)"),
                timeout.toMillis(),
                TimeUnit.MILLISECONDS));
    }

    @Override
    public void close() {
        timer.shutdownNow();
    }
}
