// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Messages between driver and executors; {@link RegistryCodec} encodes them.
 *
 * <p>Versions count the updates that the driver has sent: version 0 is the empty membership, and each update, which
 * may hold many changes, adds one.
 *
 * <p><b>Threading:</b> all messages are immutable.
 */
public sealed interface RegistryMessage {
    /**
     * Executor to driver: here I am. Answered by {@link Snapshot}, {@link Welcome} or {@link AnnounceRefused}. May be
     * repeated.
     */
    record Announce(Member member) implements RegistryMessage {}

    /** Driver's answer to an announcement that came after the end of its incarnation. */
    record AnnounceRefused(String reason) implements RegistryMessage {}

    /** All members as of {@code version}, the receiver included; some of them may be newer. From driver or peer. */
    record Snapshot(long version, List<Member> members) implements RegistryMessage {
        public Snapshot {
            members = List.copyOf(members);
        }
    }

    /**
     * Driver to all members: what led from {@code version - 1} to {@code version}; each executor id comes once, as it
     * was in the end. A member in {@code added} replaces an earlier one of the same executor id.
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

    /**
     * Executor to driver: I hold something of these shuffles; which of them are gone? Answered by {@link ShufflesGone}.
     */
    record ShufflesHeld(Set<Integer> shuffleIds) implements RegistryMessage {
        public ShufflesHeld {
            shuffleIds = Set.copyOf(shuffleIds);
        }
    }

    /**
     * Driver's answer: those of the shuffles asked about that have been removed.
     *
     * @param version of an update that has reached everyone by now; who lacks it must ask for a snapshot
     */
    record ShufflesGone(long version, Set<Integer> shuffleIds) implements RegistryMessage {
        public ShufflesGone {
            shuffleIds = Set.copyOf(shuffleIds);
        }
    }

    /**
     * Driver's answer to an announcement in a large cluster: ask one of these members for a snapshot of at least
     * {@code version}. Later updates come by themselves.
     */
    record Welcome(long version, List<Member> sources) implements RegistryMessage {
        /** Most members to ask. */
        static final int MAX_SOURCES = 16;

        public Welcome {
            sources = List.copyOf(sources);
        }
    }

    /** Executor to driver: all members, please, as no peer could tell. Answered by {@link Snapshot}. */
    record SnapshotRequest() implements RegistryMessage {}

    /** A member's answer to a query for a newer snapshot; {@code version} is its own. */
    record SnapshotBehind(long version) implements RegistryMessage {}

    /**
     * Driver or member to member: apply the update and forward it to the other members in {@code range}; a range of one
     * hash forwards nothing.
     */
    record Relay(HashRange range, EncodedUpdate update) implements RegistryMessage {}

    /** The answer to what needs none but that it came. */
    record Taken() implements RegistryMessage {}

    /**
     * Driver's answer to a report of an executor that has stopped, or is being decommissioned, and whose map outputs
     * others serve when it has ended: leave their files.
     */
    record LeaveFiles() implements RegistryMessage {}

    /**
     * Driver to executor: serve the pool of this member, which has ended. Answered by {@link Inherited} or {@link
     * Refused}.
     */
    record Inherit(Member ended) implements RegistryMessage {}

    /** An executor's answer: the ended member, with the addresses at which its pool is served now. */
    record Inherited(Member ended) implements RegistryMessage {}

    /** An executor's answer if it cannot serve that pool, or empty it. */
    record Refused(String reason) implements RegistryMessage {}

    /**
     * Driver to executor: move the map outputs that this executor, which has ended, had of these shuffles from its pool
     * to disk, where the external shuffle service of the host serves them, and remove all others. Answered by {@link
     * Taken} when that is done, or {@link Refused}.
     */
    record MoveToDisk(String executorId, Set<Integer> shuffleIds) implements RegistryMessage {
        public MoveToDisk {
            shuffleIds = Set.copyOf(shuffleIds);
        }
    }

    /** Executor to driver: is this shuffle compressed for the network? Answered by {@link CompressionReply}. */
    record CompressionRequest(int shuffleId) implements RegistryMessage {}

    /** Driver's answer, the same for every executor that asks about the same shuffle. */
    record CompressionReply(boolean compressed) implements RegistryMessage {}

    /** Driver to executor: your report, please. Answered by {@link Report}. */
    record ReportRequest() implements RegistryMessage {}

    /**
     * An executor's report, sent periodically and answered by {@link Taken}, or sent as an answer. Where map outputs
     * outlive executors, a last one may also be answered by {@link LeaveFiles}, or by a {@link Snapshot} of the members
     * whose files must stay while others are removed; one of an executor that is being decommissioned by {@link
     * LeaveFiles}, if its outputs need not be moved.
     *
     * @param host where it runs
     * @param occasion why it comes now
     * @param counters by name
     * @param readLatencies how many READs took how long
     * @param paths in which it reaches others, as far as it has looked
     * @param quarantined some of the executors to which a path failed that is not used for a while
     * @param whyNotRdma in words for the user; empty if RDMA is used
     */
    record Report(
            String executorId,
            String host,
            Occasion occasion,
            Map<String, Long> counters,
            List<Long> readLatencies,
            List<PathGroup> paths,
            List<String> quarantined,
            String whyNotRdma)
            implements RegistryMessage {
        public Report {
            counters = Map.copyOf(counters);
            readLatencies = List.copyOf(readLatencies);
            paths = List.copyOf(paths);
            quarantined = List.copyOf(quarantined);
        }

        /** Why an executor reports; the order is that of the numbers that travel. */
        public enum Occasion {
            /** It is time to, or the driver has asked. */
            USUAL,
            /** It has stopped. */
            STOPPED,
            /** It is being decommissioned, and asks whether its map outputs may stay where they are. */
            DECOMMISSIONED
        }

        /** Returns whether the executor has stopped. */
        public boolean last() {
            return occasion == Occasion.STOPPED;
        }
    }

    /**
     * A change of the membership, and its bytes as the driver wrote them: whoever passes it on copies these.
     *
     * <p><b>Threading:</b> immutable; the bytes are not copied and must not be changed.
     *
     * @param body the fields of the message, without its header
     */
    @SuppressWarnings("ArrayRecordComponent") // equal by content
    record EncodedUpdate(MembershipUpdate content, byte[] body) {
        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof EncodedUpdate that && content.equals(that.content);
        }

        @Override
        public int hashCode() {
            return content.hashCode();
        }

        @Override
        public String toString() {
            return content.toString();
        }
    }
}
