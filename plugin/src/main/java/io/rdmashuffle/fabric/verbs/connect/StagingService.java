// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.memory.Lease;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the control thread asks of the part that reads the disk.
 *
 * <p><b>Threading:</b> thread-safe; returns at once.
 *
 * <p><b>Ownership:</b> a lease that it gave is the caller's, until it is given back here.
 */
public interface StagingService {
    /**
     * Starts to bring ranges of the disk tier into registered memory, one after another.
     *
     * @param listener told once how it ended, on another thread
     * @return false if too much waits already; nothing was started
     */
    boolean stage(List<RemoteSlice> ranges, Listener listener);

    /** Takes back what was staged. */
    void giveBack(Lease staged);

    /** Returns how long peers may read what was staged. */
    Duration readWithin();

    /** Who hears how staging ended; must be quick and must not throw. */
    interface Listener {
        /** Takes the outcome, and its lease. */
        void staged(Outcome outcome);
    }

    /**
     * How staging ended.
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
