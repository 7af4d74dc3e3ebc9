// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.WaitSet;
import io.rdmashuffle.verbs.WorkCompletions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Thread of an endpoint: polls completions and other events, enforces timeouts, runs tasks of other threads.
 *
 * <p>Sleeps on the descriptors of its completion channel and of other watched sources. The order that loses no
 * completion: read the channel's event, arm, poll until empty, sleep.
 *
 * <p>When the device fails, all connections end at once, and the thread remains to refuse later requests.
 *
 * <p><b>Threading:</b> {@link #run} is the thread; all other methods may be called by any, {@link #watch} before the
 * start only.
 *
 * <p><b>Ownership:</b> the endpoint's, which closes the queues after the thread has ended.
 */
final class Progress implements Runnable {
    private static final AtomicInteger THREADS = new AtomicInteger();
    private static final int MAX_COMPLETIONS_PER_POLL = 64;
    /** Completions between two looks at everything else: operations may be posted again as fast as they complete. */
    private static final int MAX_COMPLETIONS_PER_TURN = 1024;
    /** Polls between two looks at everything else, when spinning: some ten microseconds. */
    private static final int MAX_SPINS = 256;

    private static final int MAX_WATCHED = 3;
    private static final long MAX_SLEEP_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final int entries;
    private final AtomicInteger freeCompletions;
    private final boolean busyPoll;
    private final Thread thread;
    private final WaitSet waits = new WaitSet(MAX_WATCHED);
    private final int channelReady;
    private final List<Watched> watched = new ArrayList<>();
    private final long origin = System.nanoTime();
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final WorkCompletions completions = new WorkCompletions(MAX_COMPLETIONS_PER_POLL);
    private final Driven driven = new Driven();
    /** When the thread will next check deadlines by itself; an earlier deadline must wake it. */
    private volatile long plannedWake = Operation.NEVER;

    private volatile boolean stopping;
    private volatile boolean ended;
    private volatile @Nullable Throwable broken;

    /**
     * A descriptor beside the completion channel's.
     *
     * @param number its number in the wait set
     * @param ofDevice whether it fails with the device
     * @param take processes arrived events
     */
    private record Watched(int number, boolean ofDevice, Runnable take) {}

    /**
     * Drives what completes into a queue.
     *
     * @param entries how many completions the queue has room for
     */
    Progress(CompletionChannel channel, CompletionQueue queue, int entries, boolean busyPoll) {
        this.channel = channel;
        this.queue = queue;
        this.entries = entries;
        this.freeCompletions = new AtomicInteger(entries);
        this.busyPoll = busyPoll;
        this.channelReady = waits.add(channel.fileDescriptor());
        this.thread = new Thread(this, "rdma-progress-" + THREADS.getAndIncrement());
        thread.setDaemon(true);
    }

    /** Runs a task on the thread whenever a descriptor is readable. */
    void watch(int descriptor, boolean ofDevice, Runnable take) {
        watched.add(new Watched(waits.add(descriptor), ofDevice, take));
    }

    void start() {
        thread.start();
    }

    /** Returns nanoseconds since the start: comparable, unlike those of {@link System#nanoTime()}. */
    long now() {
        return System.nanoTime() - origin;
    }

    boolean isCurrentThread() {
        return Thread.currentThread() == thread;
    }

    /** Runs a task on the thread, soon. */
    void execute(Runnable task) {
        tasks.add(task);
        waits.wake();
        if (ended) {
            drainTasks(); // the thread has ended
        }
    }

    /** Runs a task on the thread: now if this is it, else soon. */
    void runHere(Runnable task) {
        if (isCurrentThread()) {
            task.run();
        } else {
            execute(task);
        }
    }

    CompletionQueue queue() {
        return queue;
    }

    int freeCompletions() {
        return freeCompletions.get();
    }

    /** Sets room in the completion queue aside; returns false if there is not enough. */
    boolean reserve(int completions) {
        boolean reserved = freeCompletions.addAndGet(-completions) >= 0;
        if (!reserved) {
            giveBack(completions);
        }
        return reserved;
    }

    void giveBack(int completions) {
        freeCompletions.addAndGet(completions);
    }

    /** Makes sure that the thread checks deadlines by then. */
    void wakeBefore(long deadline) {
        long planned = plannedWake;
        // The thread itself checks them before it sleeps, unless it is just doing so.
        if (deadline < planned && (planned == Operation.NEVER || !isCurrentThread())) {
            waits.wake();
        }
    }

    void add(Timed what) {
        driven.add(what);
    }

    void forget(Timed what) {
        driven.remove(what);
    }

    /** Fails the connection that a device event is about, if it is one of this thread. */
    void failSubjectOf(AsyncEvent event) {
        // Found now, while the queue pair still has its address, which the next one may get.
        driven.targets()
                .filter(target -> target.isSubjectOf(event))
                .forEach(target -> execute(() -> target.fail(new IOException("device event: " + event.description()))));
    }

    /** Notifies the connection that a device event is about, if it is one of this thread. */
    void lastReceiveOf(AsyncEvent event) {
        driven.targets()
                .filter(target -> target.isSubjectOf(event))
                .forEach(target -> execute(target::lastReceiveReached));
    }

    /** Stops dispatching to a target. */
    void forget(int number) {
        CompletionTarget target = driven.find(number);
        if (target != null) {
            forget(target);
        }
    }

    /** Returns whether a device event is about this thread's completion queue. */
    boolean isSubjectOf(AsyncEvent event) {
        return event.isAbout(queue);
    }

    /** Ends all connections without waiting for the device, which is given up. */
    void lose(Throwable reason) {
        execute(() -> {
            if (broken == null && !ended) {
                broken = reason;
                // Descriptors of a device that is gone are ready for good.
                waits.ignore(channelReady);
                watched.stream().filter(Watched::ofDevice).forEach(each -> waits.ignore(each.number()));
                abortAll(reason);
            }
        });
    }

    /** Returns the reason why the device was abandoned or the thread died; null if neither happened. */
    @Nullable
    Throwable broken() {
        return broken;
    }

    /**
     * Fails everything, then ends the thread once all has ended; waits for that, and returns whether the caller was
     * interrupted.
     */
    boolean stop(Throwable reason) {
        execute(() -> {
            for (Timed each : driven.all()) {
                each.fail(reason);
            }
            stopping = true;
        });
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        return interrupted;
    }

    @Override
    public void run() {
        try (completions) {
            queue.arm();
            while (!stopping || !driven.isEmpty()) {
                boolean more = poll();
                drainTasks();
                lookAround(more);
            }
        } catch (RuntimeException | Error e) {
            broken = e;
            abortAll(e);
        } finally {
            ended = true;
            waits.close();
            drainTasks();
        }
    }

    private void abortAll(Throwable reason) {
        for (Timed each : driven.all()) {
            each.abort(reason);
        }
    }

    /** Returns whether there may be more completions. */
    private boolean poll() {
        int spins = busyPoll ? MAX_SPINS : 1;
        boolean more;
        // Once at least: the queue may have been armed with completions in it, of which no event will tell.
        do {
            more = takeCompletions(MAX_COMPLETIONS_PER_TURN);
            Thread.onSpinWait();
            spins--;
        } while (spins > 0 && !more && tasks.isEmpty());
        return more;
    }

    /** Polls at least the pending completions; on the thread, and not while one is being taken. */
    void takeCompletions() {
        takeCompletions(entries);
    }

    /** Polls completions until there is none, or enough have been taken; returns whether there may be more. */
    private boolean takeCompletions(int enough) {
        int taken = 0;
        while (broken == null && taken < enough) {
            int count = queue.poll(completions);
            if (count == 0) {
                return false;
            }
            taken += count;
            for (int i = 0; i < count; i++) {
                CompletionTarget target = driven.find(CompletionTarget.numberOf(completions.workRequestId(i)));
                if (target != null) {
                    target.complete(completions, i);
                }
            }
        }
        return broken == null;
    }

    private void drainTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    /** Enforces timeouts, sleeps unless spinning or there is more to take, takes events. */
    private void lookAround(boolean more) {
        plannedWake = Operation.NEVER;
        long now = now();
        long next = now + MAX_SLEEP_NANOS;
        for (Timed each : driven.all()) {
            next = Math.min(next, each.tick(now));
        }
        plannedWake = next;
        boolean over = stopping && driven.isEmpty();
        boolean spinning = busyPoll && broken == null;
        waits.await(spinning || more || over || !tasks.isEmpty() ? 0 : Math.max(0, next - now));
        if (waits.isReady(channelReady)) {
            // One event for each time that the queue was armed; if there is another, the channel is still ready.
            channel.nextEvent();
            queue.arm();
        }
        for (int i = 0; i < watched.size(); i++) { // not by an iterator, which is garbage
            Watched each = watched.get(i);
            if (waits.isReady(each.number())) {
                each.take().run();
            }
        }
    }
}
