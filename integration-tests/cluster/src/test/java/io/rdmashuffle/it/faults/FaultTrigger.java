// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/**
 * Trigger of a fault at a point of an application, once.
 *
 * <p><b>Threading:</b> the fault runs on its own thread, so that it may take long.
 */
final class FaultTrigger extends SparkListener {
    private static final long SECONDS = 120;

    private final Place place;
    private final AtomicInteger left;
    private final Fault fault;
    private final Set<Integer> resultStages = ConcurrentHashMap.newKeySet();
    private final CompletableFuture<Boolean> done = new CompletableFuture<>();

    private FaultTrigger(SparkContext context, Place place, int count, Fault fault) {
        this.place = place;
        this.left = new AtomicInteger(count);
        this.fault = fault;
        context.addSparkListener(this);
    }

    /** Places in a job, counted from now on. */
    enum Place {
        MAP_TASK_ENDS,
        REDUCE_TASK_STARTS
    }

    /** Something that goes wrong. */
    @FunctionalInterface
    interface Fault {
        void inject() throws Exception;
    }

    /** Prepares a fault for when something has happened {@code count} times. */
    static FaultTrigger at(SparkContext context, Place place, int count, Fault fault) {
        return new FaultTrigger(context, place, count, fault);
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        if (end.taskType().equals("ShuffleMapTask")) {
            reached(Place.MAP_TASK_ENDS);
        }
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
        if (submitted.stageInfo().shuffleDepId().isEmpty()) {
            resultStages.add(submitted.stageInfo().stageId());
        }
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart start) {
        if (resultStages.contains(start.stageId())) {
            reached(Place.REDUCE_TASK_STARTS);
        }
    }

    private void reached(Place reached) {
        if (reached == place && left.decrementAndGet() == 0) {
            Thread thread = new Thread(this::inject, "fault");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void inject() {
        try {
            fault.inject();
            done.complete(true);
        } catch (Exception e) {
            done.completeExceptionally(e);
        }
    }

    /** Waits until the fault is over; fails if it never came, or went wrong itself. */
    void awaitEnd() throws Exception {
        done.get(SECONDS, TimeUnit.SECONDS);
    }
}
