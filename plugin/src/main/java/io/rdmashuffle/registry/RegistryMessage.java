// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What driver and executors tell each other; {@link RegistryCodec} turns messages into bytes.
 *
 * <p>Versions count the changes of the membership that the driver saw: version 0 is the empty membership, and each
 * change adds one.
 *
 * <p><b>Threading:</b> all messages are immutable.
 */
public sealed interface RegistryMessage {
    /** Executor to driver: here I am. Answered by {@link Snapshot} or {@link AnnounceRefused}. May be repeated. */
    record Announce(Member member) implements RegistryMessage {}

    /** Driver's answer to an announcement that came after the end of its incarnation. */
    record AnnounceRefused(String reason) implements RegistryMessage {}

    /** Driver's answer to an announcement: all members, the announcer included, as of {@code version}. */
    record Snapshot(long version, List<Member> members) implements RegistryMessage {
        public Snapshot {
            members = List.copyOf(members);
        }
    }

    /**
     * Driver to all other members: the change that led from {@code version - 1} to {@code version}. A member in
     * {@code added} replaces an earlier one of the same executor id.
     */
    record MembershipUpdate(long version, List<Member> added, List<String> removed) implements RegistryMessage {
        public MembershipUpdate {
            added = List.copyOf(added);
            removed = List.copyOf(removed);
        }
    }

    /** Executor to driver: who is this? Answered by {@link LookupReply}. */
    record Lookup(String executorId) implements RegistryMessage {}

    /** Driver's answer to a lookup: null if there was no such member as of {@code version}. */
    record LookupReply(
            long version, String executorId, @Nullable Member member) implements RegistryMessage {}

    /** Driver to executor: your counters, please. Answered by {@link StatisticsReply}. */
    record StatisticsRequest() implements RegistryMessage {}

    /** An executor's counters by name. */
    record StatisticsReply(Map<String, Long> counters) implements RegistryMessage {
        public StatisticsReply {
            counters = Map.copyOf(counters);
        }
    }

    /**
     * Executor to driver: I hold something of these shuffles; which of them are gone? Answered by {@link ShufflesGone}.
     */
    record ShufflesHeld(Set<Integer> shuffleIds) implements RegistryMessage {
        public ShufflesHeld {
            shuffleIds = Set.copyOf(shuffleIds);
        }
    }

    /** Driver's answer: those of the shuffles asked about that have been removed. */
    record ShufflesGone(Set<Integer> shuffleIds) implements RegistryMessage {
        public ShufflesGone {
            shuffleIds = Set.copyOf(shuffleIds);
        }
    }
}
