// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.Relay;
import java.util.ArrayList;
import java.util.List;

/**
 * Relays that an executor must forward, kept until it knows the members.
 *
 * <p><b>Threading:</b> safe; sends on the calling thread.
 */
final class RelayDuties {
    /** Updates that wait for a snapshot, which takes some: they come {@link RegistryServer#FLUSH_DELAY} apart. */
    private static final int MAX_HELD = 64;

    private final long ownHash;
    private final PeerChannel peers;
    private final List<Relay> held = new ArrayList<>();

    RelayDuties(String ownExecutorId, PeerChannel peers) {
        this.ownHash = HashRange.hash(ownExecutorId);
        this.peers = peers;
    }

    /** Keeps one for later; beyond a bound it is dropped, and those who miss it find out at their next sweep. */
    synchronized void hold(Relay relay) {
        if (held.size() < MAX_HELD) {
            held.add(relay);
        }
    }

    /** Removes and returns the held relays. */
    synchronized List<Relay> release() {
        List<Relay> released = List.copyOf(held);
        held.clear();
        return released;
    }

    /**
     * Passes an update on.
     *
     * @param members those in its range that this executor knows
     */
    void passOn(Relay relay, List<Member> members) {
        if (!members.isEmpty()) {
            new RelayFanout(relay.update(), peers::push).spread(relay.range(), members, ownHash);
        }
    }
}
