// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

/**
 * The driver's way to push to one member.
 *
 * <p><b>Threading:</b> called by any thread, several at once; must not block.
 */
@FunctionalInterface
public interface MemberChannel {
    /** Sends a message and forgets it. It may get lost; what is thrown is logged once per member and ignored. */
    void send(RegistryMessage message);
}
