// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads of a verbs fabric: the one place that starts them and waits for their end.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class FabricThreads {
    private static final Logger LOG = LoggerFactory.getLogger(FabricThreads.class);

    private final Map<Runnable, Thread> threads = Collections.synchronizedMap(new IdentityHashMap<>());

    /** Starts a daemon thread of this name that runs something. */
    void start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        threads.put(body, thread);
    }

    /** Returns whether a thread was started for this. */
    boolean hasStarted(Runnable body) {
        return threads.containsKey(body);
    }

    /**
     * Waits until the thread of this has ended; an interruption does not shorten the wait, and is kept. Returns false
     * if it still runs, also when it is the calling one; then nothing that it uses may be closed.
     */
    boolean join(Runnable body, long timeoutMillis) {
        Thread thread = threads.get(body);
        if (thread == null || join(thread, timeoutMillis)) {
            return true;
        }
        LOG.error("{} is still running {} ms after it was closed; its memory is kept", thread.getName(), timeoutMillis);
        return false;
    }

    private static boolean join(Thread thread, long timeoutMillis) {
        if (Thread.currentThread().equals(thread)) {
            return false;
        }
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        boolean interrupted = false;
        long left = timeoutMillis;
        while (thread.isAlive() && left > 0) {
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
        return !thread.isAlive();
    }
}
