// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkContext;
import org.apache.spark.Success$;
import org.apache.spark.TaskEndReason;
import org.apache.spark.TaskKilled;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * What ran, what failed and who left, as Spark's listener bus tells it.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class TaskRecorder extends SparkListener {
    /** From {@code TaskSetManager.handleSuccessfulTask}. */
    private static final String FINISHED_SECOND = "did not commit due to another attempt succeeded";

    private static final long POLL_MILLIS = 50;
    private static final long BUS_MILLIS = 20_000;

    private final SparkContext context;
    private final AtomicInteger mapTasks = new AtomicInteger();
    private final AtomicInteger stageAttempts = new AtomicInteger();
    private final List<TaskEndReason> failures = new CopyOnWriteArrayList<>();
    private final Set<String> removed = ConcurrentHashMap.newKeySet();

    /** Listens until the application ends. */
    public TaskRecorder(SparkContext context) {
        this.context = context;
        context.addSparkListener(this);
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        if (end.taskType().equals("ShuffleMapTask")) {
            mapTasks.incrementAndGet();
        }
        if (!(end.reason() instanceof Success$)) {
            failures.add(end.reason());
        }
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
        stageAttempts.incrementAndGet();
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        removed.add(event.executorId());
    }

    /** Map tasks that have ended, well or not. */
    public int mapTasks() throws Exception {
        context.listenerBus().waitUntilEmpty(BUS_MILLIS);
        return mapTasks.get();
    }

    /** Reasons of tasks that did not succeed. */
    public List<TaskEndReason> failures() throws Exception {
        context.listenerBus().waitUntilEmpty(BUS_MILLIS);
        return List.copyOf(failures);
    }

    /** Attempts that succeeded when another attempt of their task had done so already; Spark counts them as killed. */
    public long secondSuccesses() throws Exception {
        return failures().stream()
                .filter(reason ->
                        reason instanceof TaskKilled killed && killed.reason().contains(FINISHED_SECOND))
                .count();
    }

    /** Stages that have begun, each as often as it did. */
    public int stageAttempts() throws Exception {
        context.listenerBus().waitUntilEmpty(BUS_MILLIS);
        return stageAttempts.get();
    }

    /** Executors that have left. */
    public Set<String> removed() throws Exception {
        context.listenerBus().waitUntilEmpty(BUS_MILLIS);
        return Set.copyOf(removed);
    }

    /** Waits until an executor has left. */
    public void awaitRemoval(String executorId, long seconds) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (!removed.contains(executorId)) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("executor " + executorId + " is still there after " + seconds + " s");
            }
            Thread.sleep(POLL_MILLIS);
        }
    }
}
