// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An executor's view of the membership, from messages that may be lost, duplicated or out of order.
 *
 * <p>For each executor id the newest version wins, so the order of arrival does not matter. {@code complete} is the
 * version up to which nothing is missing; updates beyond it that arrived before their turn wait in {@code ahead} only
 * as numbers, their content is applied at once. While {@code ahead} is not empty a message is missing and the view is
 * stale.
 *
 * <p>An answer of version v may contain a part of later changes, because the driver and peers answer with their current
 * state. It counts as of v: it wins against update v, and every later update wins against it.
 *
 * <p><b>Threading:</b> not safe; its lock is this object, which {@link RegistryAgent} takes.
 */
final class MembershipView {
    /** Updates that may wait for a missing one before the gap is given up. */
    static final int MAX_AHEAD = 1024;

    private final String ownExecutorId;
    private final MembershipEvents events;
    private final MemberTable table = new MemberTable();
    /** Versions of received changes by executor id, removals included, if they are above {@link #complete}. */
    private final Map<String, Long> newer = new HashMap<>();

    private final TreeSet<Long> ahead = new TreeSet<>();
    private long complete;
    /** A snapshot of at least this version is needed because updates before it are lost; 0 if none are. */
    private long needed;

    private volatile int peerCount;

    /** Changes of {@code ownExecutorId} are ignored. */
    MembershipView(String ownExecutorId, MembershipEvents events) {
        this.ownExecutorId = ownExecutorId;
        this.events = events;
    }

    @Nullable
    Member member(String executorId) {
        return table.get(executorId);
    }

    /** Returns a copy, without the own executor. */
    List<Member> members() {
        return table.all();
    }

    /** Returns the number of members, without the own executor; for any thread, without the lock. */
    int peerCount() {
        return peerCount;
    }

    /** Returns those of a range of hashes, in their order, without the own executor. */
    List<Member> members(HashRange range) {
        return table.in(range);
    }

    /** Returns the members, without the own executor; for looking at some of them without a copy. */
    MemberTable table() {
        return table;
    }

    /** Returns the version up to which nothing is missing; meaningless while a snapshot is needed. */
    long completeVersion() {
        return complete;
    }

    /** Returns whether an update is missing. */
    boolean isStale() {
        return !ahead.isEmpty() || needed > 0;
    }

    /** Returns whether the gap is too large for updates, so that a snapshot is needed. */
    boolean needsSnapshot() {
        return needed > 0;
    }

    /** Returns the least version of a snapshot that makes this view no longer stale. */
    long repairVersion() {
        long version = ahead.isEmpty() ? 0 : ahead.last();
        while (ahead.contains(version)) {
            version--;
        }
        return Math.max(needed, version);
    }

    /** Records that all changes up to this version have been sent: missing ones are lost. */
    void require(long version) {
        if (version > complete) {
            needed = Math.max(needed, version);
        }
    }

    void apply(MembershipUpdate update) {
        long version = update.version();
        if (version <= complete || !ahead.add(version)) {
            return;
        }
        remove(update.removed(), version, version - 1);
        put(update.added(), version, version - 1);
        advance();
        if (ahead.size() > MAX_AHEAD) {
            needed = Math.max(needed, ahead.last());
            ahead.clear();
        }
    }

    /** An answer older than the complete version is ignored. */
    void apply(LookupReply reply) {
        long version = reply.version();
        if (version < complete) {
            return;
        }
        Member member = reply.member();
        if (member == null) {
            remove(List.of(reply.executorId()), version, version);
        } else if (member.executorId().equals(reply.executorId())) {
            put(List.of(member), version, version);
        }
    }

    void apply(Snapshot snapshot) {
        long version = snapshot.version();
        if (version < complete) {
            return;
        }
        int present = put(snapshot.members(), version, version);
        if (table.size() > present) {
            removeOthers(snapshot);
        }
        complete = version;
        advance();
    }

    private void removeOthers(Snapshot snapshot) {
        Set<String> present =
                snapshot.members().stream().map(Member::executorId).collect(Collectors.toSet());
        List<String> others = table.all().stream()
                .map(Member::executorId)
                .filter(id -> !present.contains(id))
                .toList();
        remove(others, snapshot.version(), snapshot.version());
    }

    /**
     * Processes members as of {@code version} unless something newer than {@code newest} was heard of them.
     *
     * @return how many
     */
    private int put(Collection<Member> members, long version, long newest) {
        Map<String, Member> accepted = new LinkedHashMap<>();
        for (Member member : members) {
            String executorId = member.executorId();
            if (accepts(executorId, newest)) {
                remember(executorId, version);
                Member known = accepted.getOrDefault(executorId, table.get(executorId));
                accepted.put(executorId, member);
                if (!Objects.equals(known, member)) {
                    events.add(known, member);
                }
            }
        }
        table.putAll(accepted.values());
        peerCount = table.size();
        return accepted.size();
    }

    private void remove(Collection<String> executorIds, long version, long newest) {
        Set<String> accepted = executorIds.stream()
                .filter(executorId -> accepts(executorId, newest))
                .collect(Collectors.toSet());
        for (String executorId : accepted) {
            remember(executorId, version);
            Member known = table.get(executorId);
            if (known != null) {
                events.add(known, null);
            }
        }
        table.removeAll(accepted);
        peerCount = table.size();
    }

    private boolean accepts(String executorId, long newest) {
        Long heard = newer.get(executorId);
        return !executorId.equals(ownExecutorId) && (heard == null || heard <= newest);
    }

    private void remember(String executorId, long version) {
        if (version > complete) {
            newer.put(executorId, version);
        }
    }

    /** Moves {@link #complete} over everything that has arrived and drops versions that no late update can be below. */
    private void advance() {
        ahead.headSet(complete, true).clear();
        while (ahead.remove(complete + 1)) {
            complete++;
        }
        if (complete >= needed) {
            needed = 0;
        }
        newer.values().removeIf(version -> version <= complete);
    }
}
