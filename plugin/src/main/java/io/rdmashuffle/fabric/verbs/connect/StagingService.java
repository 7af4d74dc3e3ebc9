// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Lease;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Service of the staging thread for the control thread.
 *
 * <p><b>Threading:</b> thread-safe; returns at once.
 *
 * <p><b>Ownership:</b> a staged lease belongs to the caller until it is released here.
 */
public interface StagingService {
    /**
     * Starts to bring ranges of a disk tier into registered memory, one after another.
     *
     * @param inherited the process whose disk tier it is; null for this one
     * @param listener told once how it ended, on another thread
     * @return false if too much waits already; nothing was started
     */
    boolean stage(@Nullable EndedPool inherited, List<RemoteSlice> ranges, Listener listener);

    /** Releases staged bytes. */
    void giveBack(Lease staged);

    /** Returns the time in which peers may read staged bytes. */
    Duration readWithin();

    /** Listener of the end of staging; must be quick and must not throw. */
    interface Listener {
        /** Handles the outcome, and its lease. */
        void staged(Outcome outcome);
    }

    /**
     * Outcome of staging.
     *
     * @param status about the first range
     * @param lease where the bytes are; null unless the status is OK
     * @param bytes how many there are, perhaps fewer than were asked for
     */
    record Outcome(Status status, @Nullable Lease lease, int bytes) {
        /** Returns an outcome without bytes. */
        public static Outcome refusal(Status status) {
            return new Outcome(status, null, 0);
        }
    }
}
