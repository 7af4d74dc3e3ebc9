// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotBehind;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Driver and executors of a cluster that is too large for the driver to tell everyone itself. */
@Tag("unit")
class MembershipTreeTest {
    private static final int DIRECT = 4;
    private static final int EXECUTORS = 100;

    private final FakeNetwork network = new FakeNetwork(DIRECT);
    private final List<FakeNetwork.Executor> executors = new ArrayList<>();

    @BeforeEach
    void joinOneAfterTheOther() {
        for (int i = 0; i < EXECUTORS; i++) {
            FakeNetwork.Executor executor = network.executor("" + i);
            executors.add(executor);
            executor.announce(i);
        }
    }

    private void assertAllKnowAll() {
        List<Member> all = network.driver.members();
        for (FakeNetwork.Executor executor : executors) {
            List<Member> others = new ArrayList<>(all);
            others.removeIf(each -> each.executorId().equals(executor.id));
            if (others.size() < all.size()) {
                assertThat(executor.agent.peers()).containsExactlyInAnyOrderElementsOf(others);
                assertThat(executor.agent.isStale()).isFalse();
            }
        }
    }

    /** Members keep their places in the tree, so this one passes on a part of most updates. */
    private FakeNetwork.Executor busiest() {
        return executors.stream()
                .max(Comparator.comparingInt(each -> each.pushed.get()))
                .orElseThrow();
    }

    @Test
    void everyoneKnowsEveryoneAndTheDriverHardlySpoke() {
        assertAllKnowAll();
        assertThat(network.driver.messagesReceived()).isEqualTo(EXECUTORS);
        executors.forEach(each -> assertThat(each.asked).hasSize(1).allMatch(Announce.class::isInstance));
        executors
                .subList(2 * DIRECT, EXECUTORS)
                .forEach(each -> assertThat(each.pulled).hasSize(1));
    }

    @Test
    void removalsOfOneFlushReachAll() {
        network.flushesAtOnce = false;
        IntStream.range(0, EXECUTORS / 2).forEach(i -> network.driver.memberRemoved("" + i));
        List<FakeNetwork.Executor> removed = executors.subList(0, EXECUTORS / 2);
        removed.forEach(each -> each.broken = true);
        network.driver.flush();
        removed.clear();
        assertAllKnowAll();
    }

    @Test
    void unreachableMemberDoesNotBlockOthers() {
        List<FakeNetwork.Executor> dead = List.of(busiest(), executors.get(3), executors.get(50));
        dead.forEach(each -> each.broken = true);
        for (int i = EXECUTORS; i < EXECUTORS + 8; i++) {
            executors.add(network.executor("" + i).announce(i));
        }
        executors.removeAll(dead);
        assertAllKnowAll();

        dead.forEach(each -> each.broken = false);
        dead.forEach(each -> assertThat(each.agent.lookup("" + EXECUTORS)).isPresent());
    }

    @Test
    void sweepFindsWhatALosingRelaySwallowed() {
        FakeNetwork.Executor loser = busiest();
        loser.loses = true;
        network.driver.memberRemoved("7");
        network.driver.memberRemoved("8");
        network.driver.memberRemoved("9");
        network.driver.memberRemoved("10");
        executors.removeIf(each -> Set.of("7", "8", "9", "10").contains(each.id));
        assertThat(loser.agent.peers()).contains(member("7", 7));
        assertThat(loser.agent.isStale()).as("nothing shows the gap").isFalse();

        loser.loses = false;
        executors.forEach(each -> each.agent.removedShuffles(Set.of()));
        assertThat(loser.agent.peers()).as("it may be on its way still").contains(member("7", 7));
        network.advance(FlushTimes.SETTLE);
        long askedBefore = network.driver.messagesReceived();
        executors.forEach(each -> each.agent.removedShuffles(Set.of()));
        // Peers that were asked may have missed the same.
        for (int round = 0; round <= SnapshotSources.MAX_ROUNDS; round++) {
            executors.forEach(each -> each.agent.repair());
        }
        assertAllKnowAll();
        assertThat(network.driver.messagesReceived() - askedBefore)
                .as("nearly all snapshots came from peers")
                .isBetween((long) executors.size(), executors.size() + 10L);
    }

    @Test
    void sourceThatIsBehindIsAskedAgainAndThenTheDriver() {
        FakeNetwork.Executor late = network.executor("late");
        executors.forEach(each -> each.loses = true);
        network.executor("unheard").announce(1);
        late.announce(1);
        assertThat(late.pulled).hasSize(SnapshotSources.PEERS);
        assertThat(late.agent.isStale()).isTrue();
        assertThat(late.agent.lookup("5")).as("meanwhile the driver says").contains(member("5", 5));
        assertThat(late.asked).hasSize(2).last().isEqualTo(new Lookup("5"));
        assertThat(executors.get(0).agent.snapshotFor(Long.MAX_VALUE)).isInstanceOf(SnapshotBehind.class);

        assertThat(late.agent.repair()).isFalse();
        assertThat(late.agent.repair()).as("three rounds, now the driver").isTrue();
        assertThat(late.asked).last().isEqualTo(new SnapshotRequest());
        assertThat(late.agent.peers()).hasSize(EXECUTORS + 1);
    }

    @Test
    void deadSourcesLeaveTheDriver() {
        executors.forEach(each -> each.broken = true);
        FakeNetwork.Executor late = network.executor("late").announce(1);
        assertThat(late.pulled).hasSize(SnapshotSources.PEERS);
        assertThat(late.asked).containsExactly(new Announce(member("late", 1)), new SnapshotRequest());
        assertThat(late.agent.peers()).hasSize(EXECUTORS);
        assertThat(late.agent.isStale()).isFalse();
    }

    @Test
    void relayThatNeedsASnapshotPassesOnWhenItHasOne() {
        FakeNetwork.Executor late = network.executor("late");
        executors.forEach(each -> each.broken = true);
        network.driverDown = true;
        late.announce(1);
        network.driverDown = false;
        network.flushesAtOnce = false;
        late.beforeAsk = () -> network.driverDown = late.asked.size() > 2;
        network.advance(Duration.ofSeconds(1));
        late.agent.ensureAnnounced();
        assertThat(late.agent.isStale()).isTrue();
        executors.forEach(each -> each.broken = false);
        long version = network.driver.version();
        late.agent.onRelay(new RegistryMessage.Relay(
                HashRange.ALL,
                new RegistryCodec()
                        .encodeOnce(new RegistryMessage.MembershipUpdate(
                                version + 1, List.of(member("new", 1)), List.of()))));
        assertThat(executors.get(9).agent.peers()).doesNotContain(member("new", 1));

        network.advance(Duration.ofSeconds(5));
        assertThat(late.agent.repair()).isTrue();
        executors.forEach(each -> assertThat(each.agent.peers()).contains(member("new", 1)));
    }

    @Test
    void memberThatIsBehindOrHasLeftGivesNoSnapshot() {
        FakeNetwork.Executor first = executors.get(0);
        long version = network.driver.version();
        assertThat(first.agent.snapshotFor(version)).isInstanceOfSatisfying(Snapshot.class, snapshot -> {
            assertThat(snapshot.version()).isEqualTo(version);
            assertThat(snapshot.members()).containsExactlyInAnyOrderElementsOf(network.driver.members());
        });
        assertThat(first.agent.snapshotFor(version + 1)).isEqualTo(new SnapshotBehind(version));
        first.agent.close();
        assertThat(first.agent.snapshotFor(version)).isInstanceOf(SnapshotBehind.class);
        assertThat(network.executor("new").agent.snapshotFor(0)).isEqualTo(new SnapshotBehind(0));
    }
}
