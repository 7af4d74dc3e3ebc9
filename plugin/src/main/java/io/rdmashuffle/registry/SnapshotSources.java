// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * Peers to query for a snapshot before the driver.
 *
 * <p><b>Threading:</b> not safe; {@link RegistryAgent} guards it.
 */
final class SnapshotSources {
    /** Peers asked in one round. */
    static final int PEERS = 3;
    /** Rounds in which a peer was there but did not have the version yet: it comes within milliseconds. */
    static final int MAX_ROUNDS = 3;

    private final Random random = new Random();
    private List<Member> named = List.of();
    private int rounds;

    /** Sets the peers that the driver has named. */
    void name(List<Member> sources) {
        named = sources;
        rounds = 0;
    }

    /**
     * Returns the peers to query in order; empty for the driver.
     *
     * @param known all peers, from which some are drawn if the driver has named none
     * @param directMembers size of a cluster in which the driver answers directly
     */
    List<Member> next(MemberTable known, int directMembers) {
        if (rounds >= MAX_ROUNDS) {
            return List.of();
        }
        if (!named.isEmpty() || known.size() < directMembers) {
            return named;
        }
        Set<Integer> drawn = new LinkedHashSet<>();
        for (int i = 0; i < 4 * PEERS && drawn.size() < Math.min(PEERS, known.size()); i++) {
            drawn.add(random.nextInt(known.size()));
        }
        List<Member> peers = new ArrayList<>();
        drawn.forEach(position -> peers.add(known.at(position)));
        return peers;
    }

    /** Ends a round in which no peer had the version. */
    void behind() {
        rounds++;
    }

    /** There is a snapshot. */
    void done() {
        named = List.of();
        rounds = 0;
    }
}
