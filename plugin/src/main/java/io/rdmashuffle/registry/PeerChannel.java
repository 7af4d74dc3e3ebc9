// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * An executor's way to other executors.
 *
 * <p><b>Threading:</b> called by any thread, several at once.
 */
public interface PeerChannel {
    /**
     * Sends a message. Must not block, nor throw.
     *
     * @return done when the member has taken the message; fails when it has not within a deadline of the channel's.
     *     What depends on it may run on any thread and does not block
     */
    CompletableFuture<Void> push(Member to, RegistryMessage message);

    /**
     * Asks a member for a {@link RegistryMessage.Snapshot} of at least a version and waits for its answer, which may be
     * {@link RegistryMessage.SnapshotBehind}.
     *
     * @param timeout how long at most; an implementation must return or throw by then
     * @throws RegistryUnavailableException as {@link DriverChannel#ask} does
     */
    RegistryMessage pull(Member from, long atLeast, Duration timeout) throws RegistryUnavailableException;
}
