// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import java.util.concurrent.TimeUnit;

/**
 * How long a channel waits before it connects again: 50 ms after the first failure, twice as long after each further
 * one, at most 3.2 s; 1 s to 32 s after attempts that ran out of time.
 *
 * <p>Reads wait for the end of a short pause. The long ones are for them to go another way at once: each attempt that
 * runs out of time has held reads up for as long as it lasted, and a peer that never answers must do that ever less.
 *
 * <p><b>Threading:</b> the data thread.
 */
final class ReconnectPause {
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int MAX_DOUBLINGS = 6;
    private static final long FIRST_AFTER_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int MAX_DOUBLINGS_AFTER_TIMEOUT = 5;

    private int failures;
    private int timeouts;
    private boolean afterTimeout;
    private long endNanos;

    /** Begins a pause. */
    void startAfterFailure(long now) {
        endNanos = now + (FIRST_NANOS << Math.min(failures, MAX_DOUBLINGS));
        failures++;
        afterTimeout = false;
    }

    /** Begins a pause after an attempt to connect that ran out of time. */
    void startAfterTimeout(long now) {
        endNanos = now + (FIRST_AFTER_TIMEOUT_NANOS << Math.min(timeouts, MAX_DOUBLINGS_AFTER_TIMEOUT));
        timeouts++;
        afterTimeout = true;
    }

    /** Returns whether a connection may be tried. */
    boolean isOver(long now) {
        return failures + timeouts == 0 || now - endNanos >= 0;
    }

    /** Returns whether the last attempt ran out of time, so that the pause may be a long one. */
    boolean isAfterTimeout() {
        return afterTimeout;
    }

    /** Has the next pause be the shortest again, after something went well. */
    void reset() {
        failures = 0;
        timeouts = 0;
        afterTimeout = false;
    }
}
