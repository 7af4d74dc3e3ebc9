// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

/**
 * Hook between the registry and its transport. The default is the identity; tests drop, duplicate and delay messages.
 *
 * <p><b>Threading:</b> the channels that it returns keep what {@link DriverChannel} and {@link MemberChannel} promise.
 */
public interface RegistryWire {
    /** Passes everything on at once. */
    RegistryWire PLAIN = new RegistryWire() {};

    /** Returns an executor's way to ask the driver over this wire. */
    default DriverChannel toDriver(DriverChannel channel) {
        return channel;
    }

    /** Returns the driver's way to push to a member over this wire. */
    default MemberChannel toMember(MemberChannel channel) {
        return channel;
    }

    /** Returns the number of members that the driver serves directly. */
    default int directMembers() {
        return RegistryServer.DIRECT_MEMBERS;
    }

    /** Returns an executor's way to others over this wire. */
    default PeerChannel toPeers(PeerChannel channel) {
        return channel;
    }
}
