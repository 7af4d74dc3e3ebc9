// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.membership;

import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * Event loop in virtual time; nothing waits.
 *
 * <p><b>Threading:</b> one thread.
 */
final class VirtualTime {
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::nanos).thenComparingLong(Event::number));

    private long now;
    private long numbers;

    private record Event(long nanos, long number, Runnable work) {}

    /** Returns nanoseconds since the beginning. */
    long now() {
        return now;
    }

    /** Runs something at a moment, or now if that is past. */
    void at(long nanos, Runnable work) {
        events.add(new Event(Math.max(nanos, now), numbers++, work));
    }

    void after(long nanos, Runnable work) {
        at(now + nanos, work);
    }

    /** Runs everything that is due up to a moment. */
    void runUntil(long nanos) {
        for (Event next = events.peek(); next != null && next.nanos() <= nanos; next = events.peek()) {
            events.remove();
            now = next.nanos();
            next.work().run();
        }
        now = Math.max(now, nanos);
    }
}
