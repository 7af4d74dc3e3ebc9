// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counters of the work of a reading thread.
 *
 * <p><b>Threading:</b> thread-safe; meant to be counted in by one thread and read by any.
 */
public final class WorkTally {
    private final LongAdder reads = new LongAdder();
    private final LongAdder doorbells = new LongAdder();
    private final LongAdder completions = new LongAdder();
    private final LongAdder wakeUps = new LongAdder();

    /** Counts one doorbell for {@code count} READs; 0 for a message. */
    public void posted(int count) {
        doorbells.increment();
        reads.add(count);
    }

    /** Counts completions. */
    public void completed(int count) {
        completions.add(count);
    }

    /** Counts the end of a wait. */
    public void woken() {
        wakeUps.increment();
    }

    /** Returns the counts. */
    public FabricWork work() {
        long read = reads.sum();
        return new FabricWork(read, doorbells.sum(), completions.sum(), wakeUps.sum(), read > 0 ? 1 : 0);
    }
}
