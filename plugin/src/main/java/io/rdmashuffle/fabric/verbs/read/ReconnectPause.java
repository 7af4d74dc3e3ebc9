// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import java.util.concurrent.TimeUnit;

/**
 * How long a channel waits before it connects again: 50 ms after the first failure, twice as long after each further
 * one, at most 3.2 s.
 *
 * <p><b>Threading:</b> the data thread.
 */
final class ReconnectPause {
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int MAX_DOUBLINGS = 6;

    private int failures;
    private long endNanos;

    /** Begins a pause. */
    void startAfterFailure(long now) {
        endNanos = now + (FIRST_NANOS << Math.min(failures, MAX_DOUBLINGS));
        failures++;
    }

    /** Returns whether a connection may be tried. */
    boolean isOver(long now) {
        return failures == 0 || now - endNanos >= 0;
    }

    /** Has the next pause be the shortest again, after something went well. */
    void reset() {
        failures = 0;
    }
}
