// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.harness.spark.SparkCalls;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;

/**
 * Counts reduce tasks and adds up what tasks write to shuffles.
 *
 * <p><b>Threading:</b> Spark's listener thread adds, any thread reads; wait for the listener bus first.
 */
final class WorkListener extends SparkListener {
    private final AtomicLong reduceTasks = new AtomicLong();
    private final AtomicLong writtenBytes = new AtomicLong();

    long reduceTasks() {
        return reduceTasks.get();
    }

    long writtenBytes() {
        return writtenBytes.get();
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
        StageInfo stage = submitted.stageInfo();
        stageSubmitted(stage.attemptNumber(), SparkCalls.list(stage, "parentIds"), stage.numTasks());
    }

    /** A stage has a parent where it reads a shuffle; attempts after the first do some of its tasks again. */
    void stageSubmitted(int attempt, List<?> parents, int tasks) {
        if (attempt == 0 && !parents.isEmpty()) {
            reduceTasks.addAndGet(tasks);
        }
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        TaskMetrics metrics = end.taskMetrics();
        if (metrics != null) {
            writtenBytes.addAndGet(metrics.shuffleWriteMetrics().bytesWritten());
        }
    }
}
