// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.lifecycle;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** Waits for a state that another thread reaches: polled every millisecond, for 60 s at most. */
public final class Eventually {
    private Eventually() {}

    /** Returns the wait; {@code until} and {@code untilAsserted} perform it. */
    public static ConditionFactory eventually() {
        return Awaitility.await().pollInterval(Duration.ofMillis(1)).atMost(Duration.ofSeconds(60));
    }
}
