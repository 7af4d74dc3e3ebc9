// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import java.util.concurrent.TimeUnit;

/**
 * Share of their time that tasks wait for blocks of peers. Recent tasks weigh most: the sums are halved whenever they
 * cover ten minutes of tasks.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class FetchWaits {
    /** A codec adds up to a fourth to the CPU of a task, and saves about half of the wait (ADR 31). */
    static final int LONG_PERCENT = 30;

    /** Less says nothing: the first tasks of an application wait for connections. */
    private static final long ENOUGH_MILLIS = TimeUnit.SECONDS.toMillis(5);

    private static final long WINDOW_MILLIS = TimeUnit.MINUTES.toMillis(10);
    private static final int PERCENT = 100;

    private long waitMillis;
    private long runMillis;

    /** Counts a task. */
    synchronized void add(long waited, long ran) {
        waitMillis += waited;
        runMillis += ran;
        if (runMillis >= WINDOW_MILLIS) {
            waitMillis /= 2;
            runMillis /= 2;
        }
    }

    /** Returns the share in percent; 0 while no task has ended. */
    synchronized long percent() {
        return runMillis == 0 ? 0 : PERCENT * waitMillis / runMillis;
    }

    /** Returns whether tasks wait for {@value #LONG_PERCENT} percent of their time or more. */
    synchronized boolean areLong() {
        return runMillis >= ENOUGH_MILLIS && percent() >= LONG_PERCENT;
    }
}
