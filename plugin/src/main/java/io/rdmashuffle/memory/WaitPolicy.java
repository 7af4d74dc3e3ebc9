// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.time.Duration;

/**
 * Limits of the time that a reservation may block its thread.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param forGrowth whether it waits while the pool grows, as long as that is expected to take
 * @param forReturns time to wait for other leases to be released
 */
public record WaitPolicy(boolean forGrowth, Duration forReturns) {
    /** Never blocks: for threads that serve other executors, such as Netty's, and under a lock. */
    public static final WaitPolicy NONE = new WaitPolicy(false, Duration.ZERO);

    /** For tasks that use the disk tier or files when the pool is full. */
    public static final WaitPolicy GROWTH = new WaitPolicy(true, Duration.ZERO);
}
