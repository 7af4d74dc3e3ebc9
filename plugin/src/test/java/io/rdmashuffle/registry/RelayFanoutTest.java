// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the recipients of an update, and of replacements of unreachable ones. */
@Tag("unit")
@Timeout(60)
class RelayFanoutTest {
    private static final int MEMBERS = 100;

    private final MemberTable table = new MemberTable();
    private final Set<String> unreachable = new HashSet<>();
    private final List<String> tried = new ArrayList<>();
    private final List<Relay> taken = new ArrayList<>();
    /** Number of messages that fail, to any recipient. */
    private int failuresLeft;

    private RelayFanout fanout(long version, List<Member> added) {
        MembershipUpdate update = new MembershipUpdate(version, added, List.of());
        return new RelayFanout(new RegistryCodec().encodeOnce(update), this::push);
    }

    private CompletableFuture<Void> push(Member to, Relay relay) {
        tried.add(to.executorId());
        failuresLeft--;
        if (failuresLeft >= 0 || unreachable.contains(to.executorId())) {
            return CompletableFuture.failedFuture(new RegistryUnavailableException("no way to " + to));
        }
        taken.add(relay);
        return CompletableFuture.completedFuture(null);
    }

    private List<Member> members(int count) {
        table.putAll(IntStream.range(0, count).mapToObj(i -> member("" + i, i)).toList());
        return table.in(HashRange.ALL);
    }

    private Set<String> ids(List<Member> members) {
        Set<String> ids = new HashSet<>();
        members.forEach(each -> ids.add(each.executorId()));
        return ids;
    }

    private void spread(long version, List<Member> members) {
        fanout(version, List.of()).spread(HashRange.ALL, members, RelayParts.NO_HASH);
    }

    @Test
    void eachPartIsHandedToOneOfItsMembers() {
        List<Member> all = members(MEMBERS);
        spread(1, all);
        assertThat(taken).hasSize(RelayParts.MAX_DRIVER_PARTS);
        assertThat(tried).doesNotHaveDuplicates();
        Set<String> covered = new HashSet<>();
        for (int i = 0; i < taken.size(); i++) {
            Set<String> part = ids(table.in(taken.get(i).range()));
            assertThat(part).contains(tried.get(i));
            covered.addAll(part);
        }
        assertThat(covered).isEqualTo(ids(all));
    }

    @Test
    void firstTargetRotatesWithTheVersion() {
        List<Member> all = members(MEMBERS);
        Set<List<String>> choices = new HashSet<>();
        for (int version = 0; version < 8; version++) {
            tried.clear();
            spread(version, all);
            choices.add(List.copyOf(tried));
        }
        assertThat(choices).hasSizeBetween(2, 4);
    }

    @Test
    void anotherMemberReplacesAnUnreachableOne() {
        List<Member> all = members(MEMBERS);
        spread(1, all);
        List<String> first = List.copyOf(tried);
        List<Relay> whole = List.copyOf(taken);
        unreachable.addAll(first);
        tried.clear();
        taken.clear();
        spread(1, all);
        assertThat(tried).hasSize(2 * first.size()).containsAll(first).doesNotHaveDuplicates();
        assertThat(taken)
                .extracting(Relay::range)
                .isEqualTo(whole.stream().map(Relay::range).toList());
    }

    /** If three are unreachable, many may be: the rest is divided, and live members receive the update sooner. */
    @Test
    void afterThreeFailuresThePartIsDivided() {
        List<Member> all = members(40);
        failuresLeft = RelayFanout.MAX_ATTEMPTS;
        spread(1, all);
        assertThat(tried).doesNotHaveDuplicates();
        assertThat(taken)
                .as("four of the part, and the three other parts")
                .hasSize(2 * RelayParts.MAX_DRIVER_PARTS - 1);
        Set<String> covered = new HashSet<>(tried);
        taken.forEach(relay -> covered.addAll(ids(table.in(relay.range()))));
        assertThat(covered).isEqualTo(ids(all));
    }

    @Test
    void allWhoLiveHearOfItThoughManyAreGone() {
        List<Member> all = members(MEMBERS);
        for (int i = 0; i < MEMBERS; i++) {
            if (i % 4 != 0) {
                unreachable.add("" + i);
            }
        }
        spread(1, all);
        Set<String> covered = new HashSet<>();
        taken.forEach(relay -> covered.addAll(ids(table.in(relay.range()))));
        covered.removeAll(unreachable);
        assertThat(covered).hasSize(MEMBERS / 4);
        assertThat(tried).doesNotHaveDuplicates().hasSizeLessThanOrEqualTo(RelayFanout.MAX_MESSAGES);
    }

    @Test
    void unreachablePartIsAbandoned() {
        List<Member> all = members(MEMBERS);
        unreachable.addAll(ids(all));
        try (LoggedLines lines = LoggedLines.of(RelayFanout.class)) {
            spread(7, all);
            assertThat(tried).hasSize(RelayFanout.MAX_MESSAGES).doesNotHaveDuplicates();
            assertThat(lines.all()).isNotEmpty().allMatch(line -> line.contains("version 7"));
        }
    }

    @Test
    void fewWhoCannotBeReachedAreTriedOnceEach() {
        List<Member> all = members(5);
        unreachable.addAll(ids(all));
        try (LoggedLines lines = LoggedLines.of(RelayFanout.class)) {
            spread(7, all);
            assertThat(tried).hasSize(5).doesNotHaveDuplicates();
            assertThat(lines.all()).isEmpty();
        }
    }

    @Test
    void thoseWhomTheUpdateAddsComeLast() {
        List<Member> all = members(8);
        List<Member> added = new ArrayList<>(all);
        List<Member> old = List.of(all.get(0), all.get(3), all.get(5), all.get(7));
        added.removeAll(old);
        fanout(3, added).spread(HashRange.ALL, all, RelayParts.NO_HASH);
        assertThat(tried).containsExactlyInAnyOrderElementsOf(ids(old));
        tried.clear();
        unreachable.addAll(ids(old));
        fanout(3, added).spread(HashRange.ALL, all, RelayParts.NO_HASH);
        assertThat(tried).hasSize(8).containsAll(ids(added));
    }
}
