// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.WaitSet;
import io.rdmashuffle.verbs.WorkCompletions;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The one thread of an endpoint: takes completions and connection events, enforces timeouts, runs tasks of other
 * threads.
 *
 * <p>Sleeps on the descriptors of both channels; the order that loses no completion is: take the channel's event, arm,
 * poll until empty, sleep.
 *
 * <p><b>Threading:</b> {@link #run} is the thread; all other methods may be called by any.
 *
 * <p><b>Ownership:</b> the endpoint's, which closes the queues after the thread has ended.
 */
final class Progress implements Runnable {
    private static final AtomicInteger THREADS = new AtomicInteger();
    private static final int MAX_COMPLETIONS_PER_POLL = 64;
    /** Polls between two looks at everything else, when spinning: some ten microseconds. */
    private static final int MAX_SPINS = 256;

    private static final long MAX_SLEEP_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final EventChannel events;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final boolean busyPoll;
    private final Thread thread;
    private final WaitSet waits = new WaitSet(2);
    private final int eventsReady;
    private final int channelReady;
    private final long origin = System.nanoTime();
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final Map<Integer, CompletionTarget> targets = new ConcurrentHashMap<>();
    private final Map<CmId, Consumer<CmEvent>> handlers = new ConcurrentHashMap<>();
    private final Set<Timed> timed = ConcurrentHashMap.newKeySet();
    private final Consumer<CmEvent> requests;
    /** When the thread will next check deadlines by itself; an earlier deadline must wake it. */
    private volatile long plannedWake = Operation.NEVER;

    private volatile boolean stopping;
    private volatile boolean ended;
    private volatile @Nullable Throwable broken;

    Progress(
            EventChannel events,
            CompletionChannel channel,
            CompletionQueue queue,
            boolean busyPoll,
            Consumer<CmEvent> requests) {
        this.events = events;
        this.channel = channel;
        this.queue = queue;
        this.busyPoll = busyPoll;
        this.requests = requests;
        this.eventsReady = waits.add(events.fileDescriptor());
        this.channelReady = waits.add(channel.fileDescriptor());
        this.thread = new Thread(this, "rdma-progress-" + THREADS.getAndIncrement());
        thread.setDaemon(true);
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

    /** Makes sure that the thread checks deadlines by then. */
    void wakeBefore(long deadline) {
        if (deadline < plannedWake) {
            waits.wake();
        }
    }

    void setHandler(CmId id, Consumer<CmEvent> handler) {
        handlers.put(id, handler);
    }

    void add(Timed what) {
        timed.add(what);
        if (what instanceof CompletionTarget target) {
            targets.put(target.number(), target);
        }
    }

    void forget(Timed what) {
        timed.remove(what);
        if (what instanceof CompletionTarget target) {
            targets.remove(target.number());
        }
    }

    void forget(CmId id) {
        handlers.remove(id);
    }

    /** Returns why the thread died, null if it did not. */
    @Nullable
    Throwable broken() {
        return broken;
    }

    /** Fails everything, then ends the thread once all has ended; waits for that. */
    void stop(Throwable reason) throws InterruptedException {
        execute(() -> {
            timed.forEach(each -> each.fail(reason));
            stopping = true;
        });
        thread.join();
    }

    @Override
    public void run() {
        try (WorkCompletions completions = new WorkCompletions(MAX_COMPLETIONS_PER_POLL)) {
            queue.arm();
            while (!stopping || !timed.isEmpty()) {
                poll(completions);
                drainTasks();
                lookAround();
            }
        } catch (RuntimeException | Error e) {
            broken = e;
            timed.forEach(each -> each.abort(e));
        } finally {
            ended = true;
            waits.close();
            drainTasks();
        }
    }

    private void poll(WorkCompletions completions) {
        int spins = busyPoll ? MAX_SPINS : 1;
        for (int spin = 0; spin < spins && tasks.isEmpty(); spin++) {
            while (queue.poll(completions) > 0) {
                for (int i = 0; i < completions.count(); i++) {
                    CompletionTarget target = targets.get(CompletionTarget.numberOf(completions.workRequestId(i)));
                    if (target != null) {
                        target.complete(completions, i);
                    }
                }
            }
            Thread.onSpinWait();
        }
    }

    private void drainTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    /** Enforces timeouts, sleeps unless spinning, takes events. */
    private void lookAround() {
        plannedWake = Operation.NEVER;
        long now = now();
        long next = now + MAX_SLEEP_NANOS;
        for (Timed each : timed) {
            next = Math.min(next, each.tick(now));
        }
        plannedWake = next;
        boolean over = stopping && timed.isEmpty();
        waits.await(busyPoll || over || !tasks.isEmpty() ? 0 : Math.max(0, next - now));
        if (waits.isReady(channelReady)) {
            while (channel.nextEvent() != null) {
                // all of them mean the one queue
            }
            queue.arm();
        }
        if (waits.isReady(eventsReady)) {
            for (CmEvent event = events.nextEvent(); event != null; event = events.nextEvent()) {
                handlers.getOrDefault(event.id(), requests).accept(event);
            }
        }
    }
}
