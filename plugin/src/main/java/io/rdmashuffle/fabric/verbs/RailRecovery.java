// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes rails whose device is lost and opens them again, on a thread of its own: both may wait for a device.
 *
 * <p><b>Threading:</b> {@link #run} is that thread's, the rest is for any.
 */
final class RailRecovery implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(RailRecovery.class);
    private static final long IDLE_TICK_MILLIS = 60_000;
    private static final long LOST_TICK_MILLIS = TimeUnit.NANOSECONDS.toMillis(RailSlot.FIRST_PAUSE_NANOS) / 2;

    private final List<RailSlot> slots;
    private final Semaphore woken = new Semaphore(0);
    private volatile boolean closing;

    /** Looks after these, of which none need be there yet. */
    RailRecovery(List<RailSlot> slots) {
        this.slots = slots;
    }

    /** Has {@link #run} look at its rails now. */
    void wake() {
        woken.release();
    }

    /** Ends {@link #run}. */
    void stop() {
        closing = true;
        wake();
    }

    /** Looks after the rails until {@link #stop}. */
    @Override
    public void run() {
        while (!closing) {
            boolean anyLost = slots.stream().anyMatch(RailSlot::isLost);
            try {
                if (woken.tryAcquire(anyLost ? LOST_TICK_MILLIS : IDLE_TICK_MILLIS, TimeUnit.MILLISECONDS)) {
                    woken.drainPermits();
                }
            } catch (InterruptedException e) {
                LOG.debug("Rail thread interrupted; only stop() ends it", e);
            }
            for (RailSlot slot : slots) {
                if (!closing) {
                    recover(slot);
                }
            }
        }
    }

    private static void recover(RailSlot slot) {
        try {
            slot.recover();
        } catch (RuntimeException | Error e) {
            LOG.warn("Could not open the rail at {} again; tried again later", slot.address(), e);
        }
    }
}
