// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import java.io.IOException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Thread that waits for its channels and calls their handlers.
 *
 * <p>With nothing to do it wakes once a second for deadlines, and without channels once a minute.
 *
 * <p><b>Threading:</b> {@link #execute}, {@link #wake} and {@link #close} may be called by any thread; handlers and
 * tasks run on the loop's thread.
 *
 * <p><b>Ownership:</b> owns its selector and thread; closes the channels that are registered when it ends.
 */
final class SelectorLoop implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SelectorLoop.class);
    private static final long ACTIVE_TICK_MILLIS = 100;
    private static final long IDLE_TICK_MILLIS = 1000;
    private static final long EMPTY_TICK_MILLIS = 60_000;
    private static final long CLOSE_MILLIS = 10_000;
    /** The loop itself has been held up, by a disk or a pause of the JVM. */
    private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Selector selector;
    private final Thread thread;
    private final Work work;
    private final Consumer<SelectionKey> dispatch = this::dispatch;
    /** Guarded by itself, as is {@link #ended}. */
    private final Queue<Runnable> tasks = new ArrayDeque<>();

    private boolean ended;
    private volatile boolean closing;

    /** Work of a loop beside its channels; on its thread. */
    interface Work {
        /** Called after each wait; returns whether it did anything. Must not throw. */
        boolean step();

        /** Called once, when all handlers have been closed. */
        void end();
    }

    /** Owner of a channel. */
    interface Handler {
        /** Does what the channel is ready for; an exception closes it through {@link #failed}. */
        void ready(SelectionKey key) throws IOException;

        /** Checks deadlines; returns whether one is less than a second away. */
        boolean tick(long nowNanos);

        /** Closes the channel after an error. */
        void failed(Throwable cause);

        /** Closes the channel because the loop ends. */
        void close();
    }

    /**
     * Opens the selector; {@link #start} starts the thread.
     *
     * @throws IOException if the process has no file descriptor left
     */
    SelectorLoop(String name, Work work) throws IOException {
        this.selector = Selector.open();
        this.work = work;
        this.thread = new Thread(this::run, name);
        thread.setDaemon(true);
    }

    /** Starts the thread; closes the selector if the process may have no further thread. */
    void start() throws IOException {
        try {
            thread.start();
        } catch (Error e) {
            selector.close();
            throw e;
        }
    }

    /** Registers a channel; on the loop's thread. */
    SelectionKey register(SelectableChannel channel, int operations, Handler handler) throws IOException {
        return channel.register(selector, operations, handler);
    }

    /** Runs a task on the loop's thread; returns false if the loop has ended, and then the task never runs. */
    boolean execute(Runnable task) {
        synchronized (tasks) {
            if (ended) {
                return false;
            }
            tasks.add(task);
        }
        wake();
        return true;
    }

    /** Ends the current wait. */
    void wake() {
        selector.wakeup();
    }

    private void run() {
        try {
            boolean active = true;
            boolean stalled = false;
            long nextTick = System.nanoTime();
            while (!closing) {
                long millis = active ? ACTIVE_TICK_MILLIS : hasChannels() ? IDLE_TICK_MILLIS : EMPTY_TICK_MILLIS;
                int ready = selector.select(dispatch, millis);
                boolean any = runTasks() || ready > 0;
                any |= work.step();
                long now = System.nanoTime();
                if (!stalled && now - nextTick >= STALL_NANOS) {
                    // Bytes that arrived meanwhile are received before deadlines are checked.
                    stalled = true;
                    active = true;
                } else if (now - nextTick >= 0) {
                    stalled = false;
                    active = tick(now);
                    nextTick = now + TimeUnit.MILLISECONDS.toNanos(ACTIVE_TICK_MILLIS);
                }
                active |= any;
            }
        } catch (IOException | RuntimeException | Error e) {
            LOG.error("Unexpected error in {}; its connections are closed", thread.getName(), e);
        } finally {
            end();
        }
    }

    private boolean hasChannels() {
        return !selector.keys().isEmpty();
    }

    private void dispatch(SelectionKey key) {
        Handler handler = (Handler) key.attachment();
        try {
            if (key.isValid()) {
                handler.ready(key);
            }
        } catch (IOException | RuntimeException | Error e) {
            // An Error too: a page that vanished under a mapping is an InternalError of one connection.
            fail(key, e);
        }
    }

    private void fail(SelectionKey key, Throwable cause) {
        try {
            ((Handler) key.attachment()).failed(cause);
        } catch (RuntimeException | Error e) {
            LOG.error("Unexpected error in {}; continuing", thread.getName(), e);
            key.cancel();
        }
    }

    private boolean runTasks() {
        boolean any = false;
        while (true) {
            Runnable task;
            synchronized (tasks) {
                task = tasks.poll();
            }
            if (task == null) {
                return any;
            }
            any = true;
            try {
                task.run();
            } catch (RuntimeException | Error e) {
                LOG.error("Unexpected error in {}; continuing", thread.getName(), e);
            }
        }
    }

    private boolean tick(long now) {
        boolean active = false;
        for (SelectionKey key : new ArrayList<>(selector.keys())) {
            Handler handler = (Handler) key.attachment();
            try {
                active |= handler.tick(now);
            } catch (RuntimeException | Error e) {
                fail(key, e);
            }
        }
        return active;
    }

    private void end() {
        synchronized (tasks) {
            ended = true;
        }
        // Before the handlers are closed, since a task may add one.
        runTasks();
        for (SelectionKey key : new ArrayList<>(selector.keys())) {
            try {
                ((Handler) key.attachment()).close();
            } catch (RuntimeException | Error e) {
                LOG.error("Unexpected error in {}; continuing", thread.getName(), e);
            }
        }
        work.end();
        try {
            selector.close();
        } catch (IOException e) {
            LOG.debug("Cannot close a selector", e);
        }
    }

    /** Ends the thread and waits for it, 10 s at most; an interruption does not shorten the wait, and is kept. */
    @Override
    public void close() {
        closing = true;
        wake();
        if (Thread.currentThread().equals(thread)) {
            return;
        }
        if (thread.getState() == Thread.State.NEW) {
            end();
            return;
        }
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CLOSE_MILLIS);
        boolean interrupted = false;
        for (long left = CLOSE_MILLIS; thread.isAlive() && left > 0; ) {
            try {
                thread.join(left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            LOG.warn("{} is still running {} ms after it was closed", thread.getName(), CLOSE_MILLIS);
        }
    }
}
