// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.harness.spark.SparkCalls;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.FetchFailed;
import org.apache.spark.Success$;
import org.apache.spark.TaskEndReason;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.jspecify.annotations.Nullable;

/**
 * Counts reduce tasks, tasks that fail to read and map tasks that run again, and adds up bytes that tasks write to
 * shuffles and the time that executors are there.
 *
 * <p><b>Threading:</b> Spark's listener thread adds, any thread reads; wait for the listener bus first.
 */
final class WorkListener extends SparkListener {
    private final AtomicLong reduceTasks = new AtomicLong();
    private final AtomicLong writtenBytes = new AtomicLong();
    private final AtomicLong failedReads = new AtomicLong();
    private final AtomicLong mapTasksAgain = new AtomicLong();
    /** Shuffles by the stages that write them. */
    private final Map<Integer, Integer> shuffles = new ConcurrentHashMap<>();

    private final Set<MapTask> done = ConcurrentHashMap.newKeySet();

    /** Times at which executors came, by their ids; guarded by itself. */
    private final Map<String, Long> executors = new HashMap<>();
    /** Of executors that have gone; guarded by {@link #executors}. */
    private long endedMillis;

    private record MapTask(int shuffleId, int partition) {}

    long reduceTasks() {
        return reduceTasks.get();
    }

    long writtenBytes() {
        return writtenBytes.get();
    }

    long failedReads() {
        return failedReads.get();
    }

    long mapTasksAgain() {
        return mapTasksAgain.get();
    }

    /** Returns the time that all executors together were there until now. */
    long executorMillis(long now) {
        synchronized (executors) {
            return endedMillis
                    + executors.values().stream()
                            .mapToLong(came -> Math.max(0, now - came))
                            .sum();
        }
    }

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded added) {
        executorCame(added.executorId(), added.time());
    }

    void executorCame(String executorId, long time) {
        synchronized (executors) {
            executors.put(executorId, time);
        }
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
        executorWent(removed.executorId(), removed.time());
    }

    void executorWent(String executorId, long time) {
        synchronized (executors) {
            Long came = executors.remove(executorId);
            endedMillis += came == null ? 0 : Math.max(0, time - came);
        }
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
        StageInfo stage = submitted.stageInfo();
        if (stage.shuffleDepId().isDefined()) {
            shuffles.put(stage.stageId(), (Integer) stage.shuffleDepId().get());
        }
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
        Integer shuffleId = shuffles.get(end.stageId());
        taskEnded(end.reason(), shuffleId, end.taskInfo().partitionId());
    }

    /** Handles the end of a task that writes the partition of a shuffle, or of a result with null. */
    void taskEnded(TaskEndReason reason, @Nullable Integer shuffleId, int partition) {
        if (reason instanceof FetchFailed) {
            failedReads.incrementAndGet();
        } else if (reason == Success$.MODULE$ && shuffleId != null && !done.add(new MapTask(shuffleId, partition))) {
            mapTasksAgain.incrementAndGet();
        }
    }
}
