// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import io.rdmashuffle.bench.memory.HeapSearch.Found;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * Result of one job.
 *
 * @param error why a search was given up, or empty
 */
record JobResult(MemoryJob job, Found sort, Found ours, String error) {
    /** The most that our heap may be of sort shuffle's. */
    static final double GOAL = 1.05;

    static JobResult failed(MemoryJob job, String error) {
        Found nothing = new Found(OptionalInt.empty(), List.of());
        return new JobResult(job, nothing, nothing, error);
    }

    /** Returns our heap over sort shuffle's; nothing if either was not found. */
    OptionalDouble ratio() {
        return sort.smallestMb().isPresent() && ours.smallestMb().isPresent()
                ? OptionalDouble.of((double) ours.smallestMb().getAsInt()
                        / sort.smallestMb().getAsInt())
                : OptionalDouble.empty();
    }

    /** Returns whether ours came as close as it should. */
    boolean meetsGoal() {
        return ratio().orElse(Double.MAX_VALUE) <= GOAL;
    }
}
