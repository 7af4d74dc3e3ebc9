// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What an executor knows of the membership, from messages that may be lost, doubled or out of order.
 *
 * <p>For each executor id the newest version wins, so the order of arrival does not matter. {@code complete} is the
 * version up to which nothing is missing; updates beyond it that arrived before their turn wait in {@code ahead} only
 * as numbers, their content is applied at once. While {@code ahead} is not empty a message is missing and the view is
 * stale.
 *
 * <p><b>Threading:</b> not safe; {@link RegistryAgent} guards it.
 */
final class MembershipView {
    /** Updates that may wait for a missing one before the gap is given up. */
    static final int MAX_AHEAD = 1024;

    private final String ownExecutorId;
    private final MembershipEvents events;
    /** Members, and removals that are newer than {@link #complete}. */
    private final Map<String, Entry> entries = new HashMap<>();

    private final TreeSet<Long> ahead = new TreeSet<>();
    private long complete;
    /** A snapshot of at least this version is needed because updates before it are lost; 0 if none are. */
    private long lostBelow;

    private record Entry(long version, @Nullable Member member) {}

    /** Changes of {@code ownExecutorId} are ignored. */
    MembershipView(String ownExecutorId, MembershipEvents events) {
        this.ownExecutorId = ownExecutorId;
        this.events = events;
    }

    @Nullable
    Member member(String executorId) {
        Entry entry = entries.get(executorId);
        return entry == null ? null : entry.member();
    }

    List<Member> members() {
        List<Member> members = new ArrayList<>();
        for (Entry entry : entries.values()) {
            Member member = entry.member();
            if (member != null) {
                members.add(member);
            }
        }
        return members;
    }

    /** Returns the version up to which nothing is missing. */
    long completeVersion() {
        return complete;
    }

    /** Returns whether an update is missing. */
    boolean isStale() {
        return !ahead.isEmpty() || lostBelow > 0;
    }

    void apply(MembershipUpdate update) {
        if (update.version() <= complete || !ahead.add(update.version())) {
            return;
        }
        update.removed().forEach(executorId -> set(executorId, update.version(), null));
        update.added().forEach(member -> set(member.executorId(), update.version(), member));
        advance();
        if (ahead.size() > MAX_AHEAD) {
            lostBelow = ahead.first();
            complete = lostBelow - 1;
            advance();
        }
    }

    /** An answer older than what is complete says nothing new. */
    void apply(LookupReply reply) {
        if (reply.version() >= complete) {
            set(reply.executorId(), reply.version(), reply.member());
            advance();
        }
    }

    void apply(Snapshot snapshot) {
        if (snapshot.version() < complete) {
            return;
        }
        Set<String> present = new HashSet<>();
        for (Member member : snapshot.members()) {
            present.add(member.executorId());
            set(member.executorId(), snapshot.version(), member);
        }
        for (String executorId : List.copyOf(entries.keySet())) {
            if (!present.contains(executorId)) {
                set(executorId, snapshot.version(), null);
            }
        }
        complete = snapshot.version();
        if (complete >= lostBelow) {
            lostBelow = 0;
        }
        advance();
    }

    private void set(String executorId, long version, @Nullable Member member) {
        Entry before = entries.get(executorId);
        if (executorId.equals(ownExecutorId) || (before != null && before.version() > version)) {
            return;
        }
        Member known = before == null ? null : before.member();
        entries.put(executorId, new Entry(version, member));
        if (!Objects.equals(known, member)) {
            events.add(known, member);
        }
    }

    /** Moves {@link #complete} over everything that has arrived and drops removals that no late update can undo. */
    private void advance() {
        ahead.headSet(complete, true).clear();
        while (ahead.remove(complete + 1)) {
            complete++;
        }
        entries.values().removeIf(entry -> entry.member() == null && entry.version() <= complete);
    }
}
