// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.CompressionReply;
import io.rdmashuffle.registry.RegistryMessage.CompressionRequest;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotBehind;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.registry.RegistryMessage.Welcome;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What an executor makes of its driver's answers, those included that no driver of this version gives. */
@Tag("unit")
@Timeout(60)
class AgentAnswersTest {
    private static final Member SELF = member("1", 1);
    private static final Member OTHER = member("2", 2);

    private final Deque<RegistryMessage> answers = new ArrayDeque<>();
    private final List<RegistryMessage> asked = new ArrayList<>();
    private final RegistryAgent agent = new RegistryAgent(
            "1", this::answer, TestMembers.NO_PEERS, Duration.ofSeconds(10), RegistryServer.DIRECT_MEMBERS, () -> 0);

    private RegistryMessage answer(RegistryMessage request, Duration timeout) throws RegistryUnavailableException {
        asked.add(request);
        RegistryMessage answer = answers.poll();
        if (answer == null) {
            throw new RegistryUnavailableException("no more answers");
        }
        return answer;
    }

    private void answerWith(RegistryMessage... next) {
        answers.addAll(List.of(next));
    }

    private void announced(long version, Member... members) {
        answerWith(new Snapshot(version, List.of(members)));
        assertThat(agent.announce(SELF)).isTrue();
        asked.clear();
    }

    @Test
    void theAnswerToAnAnnouncementIsTheMembership() {
        assertThat(agent.completeVersion()).isZero();
        assertThat(agent.lookup("1")).as("not announced").isEmpty();
        answerWith(new Snapshot(7, List.of(SELF, OTHER)));
        assertThat(agent.announce(SELF)).isTrue();
        assertThat(agent.completeVersion()).isEqualTo(7);
        assertThat(agent.peers()).containsExactly(OTHER);
        assertThat(agent.lookup("1")).contains(SELF);
        assertThat(agent.lookup("2")).contains(OTHER);
        assertThat(agent.ensureAnnounced()).isTrue();
        assertThat(agent.repair()).isTrue();
        assertThat(asked).containsExactly(new Announce(SELF));
    }

    @Test
    void theDriversSnapshotSaysWhoIsNoMember() {
        answerWith(new Snapshot(7, List.of(SELF, OTHER)));
        agent.announce(SELF);
        agent.onMessage(new RegistryMessage.MembershipUpdate(9, List.of(), List.of()));
        assertThat(agent.isStale()).isTrue();
        answerWith(new Snapshot(9, List.of(SELF)));
        assertThat(agent.lookup("3")).isEmpty();
        assertThat(asked).containsExactly(new Announce(SELF), new SnapshotRequest());
        assertThat(agent.lookup("2")).as("it is gone").isEmpty();
    }

    @Test
    void aRefusedExecutorIsToldOnceAndAsksNoMore() {
        answerWith(new AnnounceRefused("it was here before"));
        try (LoggedLines lines = LoggedLines.of(RegistryAgent.class)) {
            assertThat(agent.announce(SELF)).isFalse();
            assertThat(agent.ensureAnnounced()).isFalse();
            assertThat(lines.all()).singleElement().asString().contains("it was here before");
        }
        assertThat(asked).hasSize(1);
        assertThat(agent.repair()).as("nothing to repair").isTrue();
        assertThat(agent.snapshotFor(0)).isInstanceOf(SnapshotBehind.class);
        answerWith(new Snapshot(3, List.of(SELF)));
        assertThat(agent.announce(member("1", 1, 5))).as("other addresses").isTrue();
    }

    @Test
    void anAnnouncementWithAnotherAnswerIsNotTaken() {
        answerWith(new Taken());
        try (LoggedLines lines = LoggedLines.of(RegistryAgent.class)) {
            assertThat(agent.announce(SELF)).isFalse();
            assertThat(lines.all()).singleElement().asString().contains("announcement", "Taken");
        }
        answerWith(new Snapshot(3, List.of(SELF)));
        assertThat(agent.ensureAnnounced()).isTrue();
    }

    /** The driver has another member in mind: the next announcement is for the new one. */
    @Test
    void answerOfAnEarlierAnnouncementIsIgnored() {
        Member moved = member("1", 1, 9);
        RegistryAgent[] late = new RegistryAgent[1];
        boolean[] nested = new boolean[1];
        List<RegistryMessage> requests = new ArrayList<>();
        late[0] = new RegistryAgent(
                "1",
                (request, timeout) -> {
                    requests.add(request);
                    if (!nested[0]) {
                        nested[0] = true;
                        // Another thread's; it does not wait for this one, which holds the flight.
                        Thread other = new Thread(() -> late[0].announce(moved));
                        other.setDaemon(true);
                        other.start();
                        while (other.getState() != Thread.State.TIMED_WAITING) {
                            Thread.onSpinWait();
                        }
                    }
                    return new Snapshot(5, List.of(SELF));
                },
                TestMembers.NO_PEERS,
                Duration.ofSeconds(10),
                RegistryServer.DIRECT_MEMBERS,
                () -> 0);
        assertThat(late[0].announce(SELF)).isFalse();
        assertThat(late[0].ensureAnnounced()).isTrue();
        assertThat(requests).containsExactly(new Announce(SELF), new Announce(moved));
        assertThat(late[0].lookup("1")).contains(moved);
    }

    @Test
    void welcomedMemberFetchesASnapshot() {
        answerWith(new Welcome(4, List.of()), new Snapshot(4, List.of(SELF, OTHER)));
        assertThat(agent.announce(SELF)).isTrue();
        assertThat(asked).containsExactly(new Announce(SELF), new SnapshotRequest());
        assertThat(agent.peers()).containsExactly(OTHER);
        assertThat(agent.isStale()).isFalse();
        assertThat(agent.completeVersion()).isEqualTo(4);
        assertThat(agent.snapshotFor(4))
                .isInstanceOfSatisfying(
                        Snapshot.class,
                        snapshot -> assertThat(snapshot.members()).containsExactlyInAnyOrder(SELF, OTHER));
        assertThat(agent.snapshotFor(5)).isEqualTo(new SnapshotBehind(4));
    }

    @Test
    void untilTheMembersHaveComeSomethingIsMissing() {
        answerWith(new Welcome(4, List.of()), new Taken());
        assertThat(agent.announce(SELF)).isTrue();
        assertThat(agent.isStale()).isTrue();
        assertThat(agent.completeVersion()).isZero();
        assertThat(agent.snapshotFor(0)).isInstanceOf(SnapshotBehind.class);
        answerWith(new Snapshot(4, List.of(SELF)));
        assertThat(agent.repair()).isTrue();
        assertThat(asked).containsExactly(new Announce(SELF), new SnapshotRequest(), new SnapshotRequest());
    }

    @Test
    void anAnswerAboutAnotherExecutorIsNone() {
        announced(7, SELF);
        answerWith(new LookupReply(7, "3", member("3", 3)), new Taken());
        try (LoggedLines lines = LoggedLines.of(RegistryAgent.class)) {
            assertThat(agent.lookup("2")).isEmpty();
            assertThat(agent.lookup("2")).isEmpty();
            assertThat(lines.all()).hasSize(2).allMatch(line -> line.contains("executor 2"));
        }
        assertThat(agent.peers()).isEmpty();
        answerWith(new LookupReply(7, "2", OTHER));
        assertThat(agent.lookup("2")).contains(OTHER);
        assertThat(agent.lookup("2")).contains(OTHER);
        assertThat(asked).containsExactly(new Lookup("2"), new Lookup("2"), new Lookup("2"));
    }

    @Test
    void onlyShufflesThatWereAskedAboutAreRemoved() {
        announced(7, SELF);
        answerWith(new ShufflesGone(7, Set.of(3, 4)));
        assertThat(agent.removedShuffles(Set.of(2, 3))).containsExactly(3);
        answerWith(new Taken());
        try (LoggedLines lines = LoggedLines.of(RegistryAgent.class)) {
            assertThat(agent.removedShuffles(Set.of(2, 3))).isEmpty();
            assertThat(lines.all()).singleElement().asString().contains("shuffles", "Taken");
        }
        assertThat(asked).containsExactly(new ShufflesHeld(Set.of(2, 3)), new ShufflesHeld(Set.of(2, 3)));
    }

    @Test
    void driversShuffleStateRevealsMissedRemovals() {
        announced(7, SELF);
        answerWith(new ShufflesGone(8, Set.of()), new Snapshot(8, List.of(SELF, OTHER)));
        assertThat(agent.removedShuffles(Set.of())).isEmpty();
        assertThat(asked).containsExactly(new ShufflesHeld(Set.of()), new SnapshotRequest());
        assertThat(agent.peers()).containsExactly(OTHER);
        assertThat(agent.completeVersion()).isEqualTo(8);
    }

    @Test
    void unannouncedMemberQueriesItsOwnShuffles() {
        assertThat(agent.removedShuffles(Set.of())).isEmpty();
        assertThat(asked).isEmpty();
        answerWith(new ShufflesGone(0, Set.of(1)));
        assertThat(agent.removedShuffles(Set.of(1))).containsExactly(1);
    }

    @Test
    void theDriverSaysWhetherAShuffleIsCompressed() {
        answerWith(new CompressionReply(true), new CompressionReply(false), new Taken());
        assertThat(agent.isCompressed(5)).contains(true);
        assertThat(agent.isCompressed(6)).contains(false);
        assertThat(agent.isCompressed(7)).isEmpty();
        assertThat(agent.isCompressed(8)).as("no answer").isEmpty();
        assertThat(asked)
                .containsExactly(
                        new CompressionRequest(5),
                        new CompressionRequest(6),
                        new CompressionRequest(7),
                        new CompressionRequest(8));
    }

    @Test
    void aClosedAgentTakesNothingIn() {
        announced(7, SELF, OTHER);
        agent.close();
        agent.onMessage(new RegistryMessage.MembershipUpdate(8, List.of(), List.of("2")));
        agent.onRelay(new RegistryMessage.Relay(
                HashRange.ALL,
                new RegistryCodec().encodeOnce(new RegistryMessage.MembershipUpdate(8, List.of(), List.of("2")))));
        assertThat(agent.peers()).containsExactly(OTHER);
        assertThat(agent.removedShuffles(Set.of(1))).isEmpty();
        assertThat(agent.ensureAnnounced()).as("it was").isTrue();
        assertThat(agent.repair()).isTrue();
        assertThat(asked).isEmpty();
    }

    @Test
    void deferredMessagesAreBounded() {
        RelayDuties duties = new RelayDuties("1", TestMembers.NO_PEERS);
        assertThat(duties.release()).isEmpty();
        List<RegistryMessage.Relay> relays = new ArrayList<>();
        for (int version = 0; version < 100; version++) {
            relays.add(new RegistryMessage.Relay(
                    HashRange.ALL,
                    new RegistryCodec()
                            .encodeOnce(new RegistryMessage.MembershipUpdate(version, List.of(), List.of()))));
            duties.hold(relays.get(version));
        }
        assertThat(duties.release()).isEqualTo(relays.subList(0, 64));
        assertThat(duties.release()).isEmpty();
    }

    @Test
    void anAnswerHoldsForASecond() {
        long[] now = {Long.MAX_VALUE};
        RecentAnswers recent = new RecentAnswers(() -> now[0]);
        assertThat(recent.contains("1")).isFalse();
        recent.add("1");
        assertThat(recent.contains("1")).isTrue();
        now[0] += RecentAnswers.HOLD.toNanos() - 1;
        assertThat(recent.contains("1")).isTrue();
        recent.add("2");
        now[0]++;
        assertThat(recent.contains("1")).isFalse();
        assertThat(recent.contains("2")).isTrue();
        for (int other = 0; other < 4096; other++) {
            recent.add("x" + other);
        }
        assertThat(recent.contains("2")).as("too many others").isFalse();
        assertThat(recent.contains("x0")).isTrue();
    }

    @Test
    void aVersionIsSettledTwoSecondsAfterItWasSent() {
        long[] now = {Long.MAX_VALUE};
        FlushTimes times = new FlushTimes(() -> now[0]);
        assertThat(times.settled()).isZero();
        times.add(5);
        now[0] += FlushTimes.SETTLE.toNanos() - 1;
        times.add(6);
        assertThat(times.settled()).isZero();
        now[0]++;
        assertThat(times.settled()).isEqualTo(5);
        now[0] += FlushTimes.SETTLE.toNanos();
        assertThat(times.settled()).isEqualTo(6);
        for (int version = 7; version < 7 + 257; version++) {
            times.add(version);
        }
        assertThat(times.settled()).as("more than are remembered").isEqualTo(7);
    }
}
