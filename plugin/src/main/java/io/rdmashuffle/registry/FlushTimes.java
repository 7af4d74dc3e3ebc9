// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.LongSupplier;

/**
 * Send times of membership versions, to determine the newest version that every executor should have.
 *
 * <p><b>Threading:</b> not safe; {@link RegistryServer} guards it.
 */
final class FlushTimes {
    /** Updates pass through six members or so, each in milliseconds; one that cannot be reached takes some seconds. */
    static final Duration SETTLE = Duration.ofSeconds(2);
    /** More than are sent within {@link #SETTLE}; where there are more, the oldest count as settled. */
    private static final int MAX_RECENT = 256;

    private final LongSupplier nanoClock;
    private final Queue<Flush> recent = new ArrayDeque<>();
    private long settled;

    private record Flush(long version, long nanos) {}

    FlushTimes(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    void add(long version) {
        recent.add(new Flush(version, nanoClock.getAsLong()));
        if (recent.size() > MAX_RECENT) {
            settled = recent.remove().version();
        }
    }

    /** Returns the newest version that everyone should have by now. */
    long settled() {
        long now = nanoClock.getAsLong();
        while (!recent.isEmpty() && now - recent.element().nanos() >= SETTLE.toNanos()) {
            settled = recent.remove().version();
        }
        return settled;
    }
}
