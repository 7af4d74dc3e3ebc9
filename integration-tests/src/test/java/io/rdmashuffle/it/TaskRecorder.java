package io.rdmashuffle.it;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkContext;
import org.apache.spark.Success$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * What ran, what failed and who left, as Spark's listener bus tells it.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class TaskRecorder extends SparkListener {
    private static final long POLL_MILLIS = 50;
    private static final long BUS_MILLIS = 20_000;

    private final SparkContext context;
    private final AtomicInteger mapTasks = new AtomicInteger();
    private final List<String> failures = new CopyOnWriteArrayList<>();
    private final Set<String> removed = ConcurrentHashMap.newKeySet();

    TaskRecorder(SparkContext context) {
        this.context = context;
        context.addSparkListener(this);
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        if (end.taskType().equals("ShuffleMapTask")) {
            mapTasks.incrementAndGet();
        }
        if (!(end.reason() instanceof Success$)) {
            failures.add(end.reason().toString());
        }
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        removed.add(event.executorId());
    }

    /** Map tasks that have ended, well or not. */
    int mapTasks() throws Exception {
        context.listenerBus().waitUntilEmpty(BUS_MILLIS);
        return mapTasks.get();
    }

    /** Reasons of tasks that did not succeed. */
    List<String> failures() throws Exception {
        context.listenerBus().waitUntilEmpty(BUS_MILLIS);
        return List.copyOf(failures);
    }

    /** Waits until an executor has left. */
    void awaitRemoval(String executorId, long seconds) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (!removed.contains(executorId)) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("executor " + executorId + " is still there after " + seconds + " s");
            }
            Thread.sleep(POLL_MILLIS);
        }
    }
}
