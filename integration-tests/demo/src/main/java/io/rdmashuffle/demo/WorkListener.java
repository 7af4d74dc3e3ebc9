// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.harness.spark.SparkCalls;
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
        // A stage has a parent where it reads a shuffle; attempts after the first do some of its tasks again.
        if (stage.attemptNumber() == 0 && !SparkCalls.list(stage, "parentIds").isEmpty()) {
            reduceTasks.addAndGet(stage.numTasks());
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
