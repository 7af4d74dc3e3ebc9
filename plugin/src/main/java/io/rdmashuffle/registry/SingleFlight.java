// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Deduplication of concurrent work: one thread executes it while others wait for the result.
 *
 * <p><b>Threading:</b> thread-safe; no caller waits longer than its own timeout.
 */
final class SingleFlight {
    private final ConcurrentMap<String, CountDownLatch> flights = new ConcurrentHashMap<>();

    /**
     * Runs {@code work} unless another thread runs it already; then waits for that thread.
     *
     * @param timeout how long to wait for the other thread; an interrupt ends the wait too and stays set
     */
    void run(String key, Runnable work, Duration timeout) {
        CountDownLatch own = new CountDownLatch(1);
        CountDownLatch other = flights.putIfAbsent(key, own);
        if (other != null) {
            await(other, timeout);
            return;
        }
        try {
            work.run();
        } finally {
            flights.remove(key);
            own.countDown();
        }
    }

    private static void await(CountDownLatch other, Duration timeout) {
        try {
            // Whether it ended or not, the caller uses the current view.
            boolean unused = other.await(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
