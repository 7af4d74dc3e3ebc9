// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** What a soak does to an application. */
enum Fault {
    /** An executor gets SIGKILL. */
    KILLED(true),
    /** An executor is asked to end. */
    TERMINATED(true),
    /** An executor stands still for a second. */
    PAUSED(true),
    /** An executor stands still for longer than a read may take, shorter than Spark waits for its heartbeat. */
    PAUSED_LONG(true),
    /** An executor is told to hand over what it has and to go, which it does while the next job runs. */
    DECOMMISSIONED(false),
    /**
     * Bytes that are in use in pools are overwritten; only while nothing reads, since a byte that was checked is
     * trusted.
     */
    DAMAGED(false),
    /** The files of a pool are deleted, so that no executor can map them any more. */
    UNLINKED(false);

    private final boolean whileRunning;

    Fault(boolean whileRunning) {
        this.whileRunning = whileRunning;
    }

    /** Draws one that may happen between two jobs, or else while one runs. */
    static Fault random(Random random, boolean betweenJobs) {
        List<Fault> possible = Arrays.stream(values())
                .filter(fault -> betweenJobs ? fault != PAUSED : fault.whileRunning)
                .toList();
        return possible.get(random.nextInt(possible.size()));
    }
}
