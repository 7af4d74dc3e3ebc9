// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

/**
 * Sums of Spark's task metrics.
 *
 * @param recordsWritten to shuffles
 * @param bytesWritten to shuffles, compressed as they are
 * @param recordsRead from shuffles
 * @param bytesRead from shuffles
 * @param gcMillis of executors while a task ran
 * @param spilledBytes on disk
 * @param fetchWaitMillis that tasks waited for blocks of others
 * @param runMillis that tasks ran, all of them together
 * @param failedTasks whose metrics are not in the others
 */
public record TaskTotals(
        long recordsWritten,
        long bytesWritten,
        long recordsRead,
        long bytesRead,
        long gcMillis,
        long spilledBytes,
        long fetchWaitMillis,
        long runMillis,
        long failedTasks) {
    static final TaskTotals NONE = new TaskTotals(0, 0, 0, 0, 0, 0, 0, 0, 0);

    TaskTotals plus(TaskTotals more) {
        return combined(more, 1);
    }

    TaskTotals minus(TaskTotals earlier) {
        return combined(earlier, -1);
    }

    private TaskTotals combined(TaskTotals other, int factor) {
        return new TaskTotals(
                recordsWritten + factor * other.recordsWritten,
                bytesWritten + factor * other.bytesWritten,
                recordsRead + factor * other.recordsRead,
                bytesRead + factor * other.bytesRead,
                gcMillis + factor * other.gcMillis,
                spilledBytes + factor * other.spilledBytes,
                fetchWaitMillis + factor * other.fetchWaitMillis,
                runMillis + factor * other.runMillis,
                failedTasks + factor * other.failedTasks);
    }
}
