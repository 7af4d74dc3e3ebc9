// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.time.Duration;

/**
 * How long a reservation may keep its thread.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param forGrowth whether it waits while the pool grows, as long as that is expected to take
 * @param forReturns how long it waits for others to give memory back
 */
public record Patience(boolean forGrowth, Duration forReturns) {
    /** Takes what there is now: for threads that serve others, such as those of Netty, and for holders of locks. */
    public static final Patience NONE = new Patience(false, Duration.ZERO);

    /** For tasks that have another place to go to when the pool is full. */
    public static final Patience GROWTH = new Patience(true, Duration.ZERO);
}
