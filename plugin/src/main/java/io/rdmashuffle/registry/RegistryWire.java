// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

/**
 * What lies between the registry and whatever carries its messages. The plain one is nothing; tests lose, double and
 * delay messages in theirs.
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

    /** Returns how many members the driver serves itself. */
    default int directMembers() {
        return RegistryServer.DIRECT_MEMBERS;
    }

    /** Returns an executor's way to others over this wire. */
    default PeerChannel toPeers(PeerChannel channel) {
        return channel;
    }
}
