// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class RegistryAgentTest {
    private final FakeNetwork network = new FakeNetwork();

    @Test
    void membersKnowEachOtherWithoutALookup() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        FakeNetwork.Executor second = network.executor("2").announce(2);
        FakeNetwork.Executor late = network.executor("3").announce(3);

        for (FakeNetwork.Executor executor : new FakeNetwork.Executor[] {first, second, late}) {
            assertThat(executor.agent.lookup("1")).contains(member("1", 1));
            assertThat(executor.agent.lookup("2")).contains(member("2", 2));
            assertThat(executor.agent.lookup("3")).contains(member("3", 3));
            assertThat(executor.agent.peers()).hasSize(2);
            assertThat(executor.agent.isStale()).isFalse();
        }
        assertThat(first.heard).containsExactly("+2.2", "+3.3");
        assertThat(late.heard).containsExactlyInAnyOrder("+1.1", "+2.2");
        assertThat(network.driver.messagesReceived()).isEqualTo(3);
    }

    @Test
    void missIsAskedOnceAndAnsweredAtOnce() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        first.hold = true;
        network.executor("2").announce(2);

        for (int block = 0; block < 1000; block++) {
            assertThat(first.agent.lookup("2")).contains(member("2", 2));
        }
        assertThat(first.asked).containsExactly(new Announce(member("1", 1)), new Lookup("2"));

        first.release(0);
        assertThat(first.heard).as("the push says nothing new").containsExactly("+2.2");
    }

    @Test
    void absenceIsRememberedForAWhile() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        for (int block = 0; block < 1000; block++) {
            assertThat(first.agent.lookup("2")).isEmpty();
        }
        assertThat(first.asked).hasSize(2);

        network.advance(RecentAnswers.HOLD);
        assertThat(first.agent.lookup("2")).isEmpty();
        assertThat(first.asked).hasSize(3);
    }

    @Test
    void pushEndsARememberedAbsence() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        assertThat(first.agent.lookup("2")).isEmpty();
        network.executor("2").announce(2);

        assertThat(first.agent.lookup("2")).contains(member("2", 2));
        assertThat(first.asked).hasSize(2);
    }

    @Test
    void aLastReportIsAnsweredByTheMembersOfThisMoment() {
        Deque<RegistryMessage> answers = new ArrayDeque<>(List.of(
                new Snapshot(3, List.of(member("1", 1), member("2", 2))), new Snapshot(3, List.of(member("1", 1)))));
        RegistryAgent agent = new RegistryAgent(
                "1", (request, timeout) -> answers.remove(), network.executor("1"), Duration.ofSeconds(1));
        assertThat(agent.announce(member("1", 1))).isTrue();
        assertThat(agent.peers()).containsExactly(member("2", 2));
        Report last = new Report("1", "host", Occasion.STOPPED, Map.of(), List.of(), List.of(), List.of(), "");
        assertThat(agent.report(last, Duration.ofSeconds(1), true)).isEqualTo(Receipt.TAKEN);
        assertThat(agent.peers())
                .as("the removal of 2 has not been sent in an update yet")
                .isEmpty();
    }

    @Test
    void earlyDeathIsSeenByAll() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        network.driver.memberRemoved("2");
        FakeNetwork.Executor dead = network.executor("2").announce(2);

        assertThat(dead.agent.ensureAnnounced()).isFalse();
        assertThat(dead.agent.lookup("1")).as("it may still read").contains(member("1", 1));
        assertThat(dead.asked).as("refused once, it does not insist").hasSize(2);
        assertThat(first.agent.lookup("2")).isEmpty();
        assertThat(first.heard).isEmpty();
    }

    @Test
    void removalReachesTheView() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        network.executor("2").announce(2);
        network.driver.memberRemoved("2");

        assertThat(first.agent.lookup("2")).isEmpty();
        assertThat(first.heard).containsExactly("+2.2", "-2.2");
    }

    @Test
    void newIncarnationReplacesTheOld() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        network.executor("2").announce(2);
        network.executor("2").announce(3);

        assertThat(first.agent.lookup("2")).contains(member("2", 3));
        assertThat(first.heard).containsExactly("+2.2", "2.2>2.3");
    }

    @Test
    void reorderedAndDoubledPushesEndInTheNewestState() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        first.hold = true;
        network.executor("2").announce(2);
        network.executor("2").announce(3);
        network.executor("3").announce(3);
        network.driver.memberRemoved("3");

        first.release(3, 1, 1);
        first.agent.onMessage(new MembershipUpdate(2, List.of(member("2", 2)), List.of()));
        assertThat(first.agent.isStale())
                .as("the addition of 3 has not arrived")
                .isTrue();
        first.agent.onMessage(new MembershipUpdate(4, List.of(member("3", 3)), List.of()));

        assertThat(first.agent.isStale()).isFalse();
        assertThat(first.heard).containsExactly("+2.3");
        assertThat(first.agent.peers()).containsExactly(member("2", 3));
    }

    @Test
    void lostPushIsRepairedByASnapshot() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        network.executor("2").announce(2);
        first.hold = true;
        network.driver.memberRemoved("2");
        network.executor("3").announce(3);
        network.executor("4").announce(4);
        first.release(2);

        assertThat(first.agent.isStale()).isTrue();
        assertThat(first.agent.lookup("4")).contains(member("4", 4));
        assertThat(first.asked).as("hits ask nothing").hasSize(1);

        assertThat(first.agent.lookup("3")).contains(member("3", 3));
        assertThat(first.asked).as("one snapshot repairs everything").hasSize(2);
        assertThat(first.agent.isStale()).isFalse();
        assertThat(first.agent.lookup("2")).isEmpty();
        assertThat(first.heard).contains("-2.2");
    }

    @Test
    void unreachableMemberIsLookedUpAgainOnRequest() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        network.executor("2").announce(2);
        first.hold = true;
        network.executor("2").announce(3);
        first.release();

        assertThat(first.agent.lookup("2")).as("the push was lost").contains(member("2", 2));
        first.agent.recheck("2");
        assertThat(first.agent.lookup("2")).contains(member("2", 3));
        first.agent.recheck("2");
        first.agent.recheck("unknown");
        assertThat(first.agent.lookup("2")).contains(member("2", 3));
        assertThat(first.asked).as("the answer holds for a while").hasSize(2);
        assertThat(first.heard).containsExactly("+2.2", "2.2>2.3");
    }

    @Test
    void driverThatIsDownIsAskedMoreAndMoreRarely() {
        network.driverDown = true;
        FakeNetwork.Executor first = network.executor("1").announce(1);
        for (int block = 0; block < 1000; block++) {
            assertThat(first.agent.lookup("unknown" + block)).isEmpty();
        }
        assertThat(first.asked).hasSize(1);

        for (int second = 0; second < 60; second++) {
            network.advance(Duration.ofSeconds(1));
            assertThat(first.agent.lookup("2")).isEmpty();
        }
        assertThat(first.asked).as("after 1, 2, 4, 8, 16 seconds").hasSize(6);
    }

    @Test
    void failedAnnouncementIsMadeUpForByALaterLookup() {
        network.driverDown = true;
        FakeNetwork.Executor first = network.executor("1").announce(1);
        network.driverDown = false;
        FakeNetwork.Executor second = network.executor("2").announce(2);
        assertThat(second.agent.peers()).isEmpty();

        network.advance(Duration.ofSeconds(1));
        assertThat(first.agent.lookup("2")).contains(member("2", 2));
        assertThat(first.agent.ensureAnnounced()).isTrue();
        assertThat(second.agent.lookup("1")).contains(member("1", 1));
        assertThat(first.asked).hasSize(2);
        assertThat(second.asked).hasSize(1);
    }

    @Test
    void interruptedQuestionDoesNotSilenceOthers() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        first.hold = true;
        network.executor("2").announce(2);
        network.driverDown = true;
        first.beforeAsk = () -> Thread.currentThread().interrupt();
        assertThat(first.agent.lookup("2")).isEmpty();
        assertThat(Thread.interrupted()).isTrue();

        network.driverDown = false;
        first.beforeAsk = () -> {};
        assertThat(first.agent.lookup("2")).contains(member("2", 2));
    }

    @Test
    void changedAddressesAreAnnouncedAgain() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        FakeNetwork.Executor second = network.executor("2").announce(2);

        assertThat(first.agent.announce(member("1", 1, 99))).isTrue();
        assertThat(second.agent.lookup("1")).contains(member("1", 1, 99));
        assertThat(first.agent.lookup("1")).contains(member("1", 1, 99));
        assertThatThrownBy(() -> first.agent.announce(member("2", 1))).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void closedAgentAnswersNothingAndAsksNothing() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        network.executor("2").announce(2);
        first.agent.close();
        first.agent.close();
        network.driver.memberRemoved("2");

        assertThat(first.agent.lookup("2")).isEmpty();
        assertThat(first.agent.lookup("1")).isEmpty();
        assertThat(first.asked).hasSize(1);
        assertThat(first.heard).containsExactly("+2.2");
    }

    @Test
    void removedShufflesAreThoseThatTheDriverNames() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        network.removedShuffles.addAll(Set.of(3, 4));

        assertThat(first.agent.removedShuffles(Set.of(2, 3))).containsExactly(3);
        assertThat(first.agent.removedShuffles(Set.of())).isEmpty();
        assertThat(first.asked)
                .containsExactly(
                        new Announce(member("1", 1)), new ShufflesHeld(Set.of(2, 3)), new ShufflesHeld(Set.of()));

        Set<Integer> many =
                IntStream.range(0, MessageSerializers.MAX_SHUFFLES + 10).boxed().collect(Collectors.toSet());
        assertThat(first.agent.removedShuffles(many)).containsExactlyInAnyOrder(3, 4);
    }

    @Test
    void silentDriverRemovesNoShuffle() {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        network.removedShuffles.add(3);
        network.driverDown = true;
        assertThat(first.agent.removedShuffles(Set.of(3))).isEmpty();

        network.driverDown = false;
        network.advance(Duration.ofSeconds(30));
        assertThat(first.agent.removedShuffles(Set.of(3))).containsExactly(3);
        first.agent.close();
        assertThat(first.agent.removedShuffles(Set.of(3))).isEmpty();
    }

    @Test
    void failingListenerDoesNotDisturbTheOthers() {
        FakeNetwork.Executor first = network.executor("1");
        first.agent.addListener((before, after) -> {
            throw new IllegalStateException("on purpose");
        });
        first.announce(1);
        network.executor("2").announce(2);
        network.executor("3").announce(3);

        assertThat(first.heard).containsExactly("+2.2", "+3.3");
    }
}
