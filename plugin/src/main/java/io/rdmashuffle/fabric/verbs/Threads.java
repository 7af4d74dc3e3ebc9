package io.rdmashuffle.fabric.verbs;

import java.util.concurrent.TimeUnit;

/** Waiting for threads to end. */
final class Threads {
    private Threads() {}

    /**
     * Waits until a thread has ended; an interruption does not shorten the wait, and is kept. Returns false if the thread still
     * runs, also when it is the calling one.
     */
    static boolean join(Thread thread, long timeoutMillis) {
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
