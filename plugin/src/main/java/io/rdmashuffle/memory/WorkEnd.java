// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;

/**
 * Wait of a closing pool for another thread's work on its regions.
 *
 * <p><b>Threading:</b> stateless; the caller holds the condition's lock.
 */
final class WorkEnd {
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(30);

    private WorkEnd() {}

    /** Waits while work is under way, at most 30 s; an interrupt does not end it and stays set. */
    static void await(Condition ended, BooleanSupplier underWay) {
        boolean interrupted = false;
        long left = TIMEOUT_NANOS;
        while (underWay.getAsBoolean() && left > 0) {
            try {
                left = ended.awaitNanos(left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
