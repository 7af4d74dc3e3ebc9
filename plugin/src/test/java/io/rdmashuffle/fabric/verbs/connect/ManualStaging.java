// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Lease;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A service that stages what the test says, when it says so.
 *
 * <p><b>Threading:</b> one thread.
 */
final class ManualStaging implements StagingService {
    static final Duration READ_WITHIN = Duration.ofSeconds(30);

    private final Deque<Job> jobs = new ArrayDeque<>();
    private final List<Lease> returned = new ArrayList<>();
    private boolean full;
    private boolean broken;

    private record Job(List<RemoteSlice> ranges, Listener listener) {}

    @Override
    public boolean stage(@Nullable EndedPool inherited, List<RemoteSlice> ranges, Listener listener) {
        if (broken) {
            throw new IllegalStateException("injected");
        }
        return !full && jobs.add(new Job(ranges, listener));
    }

    @Override
    public void giveBack(Lease staged) {
        returned.add(staged);
        staged.close();
    }

    @Override
    public Duration readWithin() {
        return READ_WITHIN;
    }

    void full(boolean refuses) {
        full = refuses;
    }

    void broken(boolean throwsUp) {
        broken = throwsUp;
    }

    int waiting() {
        return jobs.size();
    }

    List<RemoteSlice> oldest() {
        return jobs.element().ranges();
    }

    /** Ends the oldest request. */
    void end(Outcome outcome) {
        jobs.remove().listener().staged(outcome);
    }

    /** Returns the leases that came back. */
    List<Lease> returned() {
        return returned;
    }
}
