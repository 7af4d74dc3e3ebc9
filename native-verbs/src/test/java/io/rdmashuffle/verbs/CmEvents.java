// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.util.concurrent.TimeUnit;

/** Waits for the next step of a connection, with a deadline. */
final class CmEvents {
    private static final long DEADLINE_SECONDS = 30;

    private CmEvents() {}

    /** Returns the next event, whatever it is. */
    static CmEvent next(EventChannel channel) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
        try (WaitSet waits = new WaitSet(1)) {
            waits.add(channel.fileDescriptor());
            while (System.nanoTime() - deadline < 0) {
                CmEvent event = channel.nextEvent();
                if (event != null) {
                    return event;
                }
                waits.await(TimeUnit.SECONDS.toNanos(1));
            }
        }
        throw new AssertionError("no event within " + DEADLINE_SECONDS + " s");
    }

    /** Returns the next event, which must be of this type. */
    static CmEvent expect(EventChannel channel, CmEvent.Type type) {
        CmEvent event = next(channel);
        if (event.type() != type) {
            throw new AssertionError("expected " + type + ", got " + event.describe());
        }
        return event;
    }
}
