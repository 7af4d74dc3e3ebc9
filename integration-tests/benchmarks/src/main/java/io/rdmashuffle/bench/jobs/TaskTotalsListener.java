// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * Adds up the metrics of tasks as they end.
 *
 * <p><b>Threading:</b> Spark's listener thread adds, any thread reads.
 */
final class TaskTotalsListener extends SparkListener {
    private volatile TaskTotals totals = TaskTotals.NONE;

    /** Returns the totals; wait for the listener bus first. */
    TaskTotals totals() {
        return totals;
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        totals = totals.plus(of(end));
    }

    private static TaskTotals of(SparkListenerTaskEnd end) {
        TaskMetrics metrics = end.taskMetrics();
        if (metrics == null || !end.taskInfo().successful()) {
            return new TaskTotals(0, 0, 0, 0, 0, 0, 0, 0, 1);
        }
        return new TaskTotals(
                metrics.shuffleWriteMetrics().recordsWritten(),
                metrics.shuffleWriteMetrics().bytesWritten(),
                metrics.shuffleReadMetrics().recordsRead(),
                metrics.shuffleReadMetrics().totalBytesRead(),
                metrics.jvmGCTime(),
                metrics.diskBytesSpilled(),
                metrics.shuffleReadMetrics().fetchWaitTime(),
                metrics.executorRunTime(),
                0);
    }
}
