// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Mutual exclusion of the thread that adds records and of threads that spill them. Tasks may have several threads, as
 * {@code RDD.pipe}'s and those with Python workers have, and any of them may be the one that runs out of memory.
 *
 * <p>A lock that costs one compare-and-set a record. Spark's {@code TaskMemoryManager} holds its own lock while it asks
 * for a spill, so memory is neither acquired nor released by a thread that is inside.
 *
 * <p><b>Threading:</b> {@link #enter()}, {@link #leave()} and {@link #shut()} on one thread, which adds;
 * {@link #enterToSpill()} on any, one at a time.
 */
final class SpillGate {
    private static final VarHandle STATE;
    private static final int FREE = 0;
    private static final int TAKEN = 1;
    private static final int SHUT = 2;

    /** Adding a record takes nanoseconds, unless the collector stops the thread on the way. */
    private static final long SPILL_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final int SPINS = 100;
    private static final long NAP_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(SpillGate.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("UnusedVariable") // STATE looks at it.
    private volatile int state = FREE;

    /** Comes in to add records; waits while another thread spills, which is as long as its file takes. */
    void enter() {
        if (!STATE.compareAndSet(this, FREE, TAKEN)) {
            enterSlowly();
        }
    }

    private void enterSlowly() {
        for (int tries = 1; !STATE.compareAndSet(this, FREE, TAKEN); tries++) {
            if (state == SHUT) {
                throw new IllegalStateException("a record after the last one");
            }
            pause(tries);
        }
    }

    /** Opens the gate. */
    void leave() {
        STATE.setRelease(this, FREE);
    }

    /** Comes in to spill; false if records cannot be spilled any more, or adding one takes suspiciously long. */
    boolean enterToSpill() {
        long deadline = System.nanoTime() + SPILL_TIMEOUT_NANOS;
        for (int tries = 1; !STATE.compareAndSet(this, FREE, TAKEN); tries++) {
            if (state == SHUT || System.nanoTime() - deadline > 0) {
                return false;
            }
            pause(tries);
        }
        return true;
    }

    /** Refuses everyone from now on; waits as {@link #enter()} does. A second call does nothing. */
    void shut() {
        if (state != SHUT) {
            enter();
            STATE.setRelease(this, SHUT);
        }
    }

    private static void pause(int tries) {
        if (tries < SPINS) {
            Thread.onSpinWait();
        } else {
            LockSupport.parkNanos(NAP_NANOS);
        }
    }
}
