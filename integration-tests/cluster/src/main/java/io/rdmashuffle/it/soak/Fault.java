// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Fault that a soak injects. */
enum Fault {
    /** An executor gets SIGKILL. */
    KILLED(true),
    /** An executor is asked to end. */
    TERMINATED(true),
    /** An executor pauses for a second. */
    PAUSED(true),
    /** An executor pauses for longer than a read's deadline, shorter than Spark's heartbeat timeout. */
    PAUSED_LONG(true),
    /** An executor is decommissioned while the next job runs. */
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

    /** Draws one of these that may happen between two jobs, or else while one runs; null if none may. */
    static @Nullable Fault random(Random random, boolean betweenJobs, Set<Fault> faults) {
        List<Fault> possible = Arrays.stream(values())
                .filter(fault -> faults.contains(fault) && (betweenJobs ? fault != PAUSED : fault.whileRunning))
                .toList();
        return possible.isEmpty() ? null : possible.get(random.nextInt(possible.size()));
    }
}
