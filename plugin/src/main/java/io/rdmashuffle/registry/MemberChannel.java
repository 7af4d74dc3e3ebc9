// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.concurrent.CompletableFuture;

/**
 * The driver's way to push to one member.
 *
 * <p><b>Threading:</b> called by any thread, several at once; must not block.
 */
@FunctionalInterface
public interface MemberChannel {
    /**
     * Sends a message encoded by {@link RegistryCodec}, without an acknowledgement. It may get lost; exceptions are
     * logged once per member and ignored.
     */
    void send(byte[] message);

    /**
     * Sends a message and hears whether it came.
     *
     * @return done when the member has taken the message; fails when it has not within a deadline of the channel's.
     *     Where a channel cannot tell, done when it is sent
     */
    default CompletableFuture<Void> deliver(byte[] message) {
        send(message);
        return CompletableFuture.completedFuture(null);
    }
}
