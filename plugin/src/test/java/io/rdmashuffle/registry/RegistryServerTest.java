// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.StatisticsRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class RegistryServerTest {
    private final RegistryServer driver = new RegistryServer();
    private final List<RegistryMessage> pushedToFirst = new ArrayList<>();

    private @Nullable RegistryMessage announce(Member member) {
        return driver.handle(new Announce(member), member.executorId().equals("1") ? pushedToFirst::add : m -> {});
    }

    @Test
    void announcementIsAnsweredWithEverybodyAndPushedToTheOthers() {
        assertThat(announce(member("1", 1))).isEqualTo(new Snapshot(1, List.of(member("1", 1))));
        assertThat(announce(member("2", 2))).isEqualTo(new Snapshot(2, List.of(member("1", 1), member("2", 2))));

        assertThat(pushedToFirst).containsExactly(new MembershipUpdate(2, List.of(member("2", 2)), List.of()));
        assertThat(driver.members()).containsExactly(member("1", 1), member("2", 2));
    }

    @Test
    void repeatedAnnouncementChangesNothing() {
        announce(member("1", 1));
        announce(member("2", 2));
        assertThat(announce(member("2", 2))).isEqualTo(new Snapshot(2, List.of(member("1", 1), member("2", 2))));

        assertThat(driver.version()).isEqualTo(2);
        assertThat(pushedToFirst).hasSize(1);
    }

    @Test
    void newIncarnationReplacesTheOldWhichStaysOut() {
        announce(member("1", 1));
        announce(member("2", 2));
        announce(member("2", 3));

        assertThat(announce(member("2", 2))).isInstanceOf(AnnounceRefused.class);
        assertThat(driver.members()).containsExactly(member("1", 1), member("2", 3));
        assertThat(pushedToFirst).endsWith(new MembershipUpdate(3, List.of(member("2", 3)), List.of()));
    }

    @Test
    void sameIncarnationMayChangeItsAddresses() {
        announce(member("1", 1));
        announce(member("2", 2, 10));
        announce(member("2", 2, 11));

        assertThat(driver.members()).containsExactly(member("1", 1), member("2", 2, 11));
        assertThat(pushedToFirst).endsWith(new MembershipUpdate(3, List.of(member("2", 2, 11)), List.of()));
    }

    @Test
    void removalIsPushedAndALateAnnouncementRefused() {
        announce(member("1", 1));
        announce(member("2", 2));
        driver.memberRemoved("2");
        driver.memberRemoved("2");

        assertThat(pushedToFirst).endsWith(new MembershipUpdate(3, List.of(), List.of("2")));
        assertThat(announce(member("2", 2))).isInstanceOf(AnnounceRefused.class);
        assertThat(driver.version()).isEqualTo(3);
    }

    @Test
    void removedExecutorMayComeBackAsAnotherProcess() {
        announce(member("2", 2));
        driver.memberRemoved("2");
        driver.memberRemoved("2");

        assertThat(announce(member("2", 3))).isEqualTo(new Snapshot(3, List.of(member("2", 3))));
    }

    @Test
    void executorThatDiedBeforeItsAnnouncementStaysOut() {
        driver.memberRemoved("2");

        assertThat(announce(member("2", 2))).isInstanceOf(AnnounceRefused.class);
        assertThat(driver.members()).isEmpty();
    }

    @Test
    void lookupIsAnsweredAtOnce() {
        announce(member("1", 1));

        assertThat(driver.handle(new Lookup("1"), m -> {})).isEqualTo(new LookupReply(1, "1", member("1", 1)));
        assertThat(driver.handle(new Lookup("2"), m -> {})).isEqualTo(new LookupReply(1, "2", null));
        assertThat(driver.handle(new StatisticsRequest(), m -> {})).isNull();
        assertThat(driver.messagesReceived()).isEqualTo(4);
    }

    @Test
    void removedShufflesAreToldFromThoseThatExist() {
        RegistryServer some = new RegistryServer(shuffleId -> shuffleId % 2 == 0);

        assertThat(some.handle(new ShufflesHeld(Set.of(1, 2, 3)), m -> {})).isEqualTo(new ShufflesGone(Set.of(1, 3)));
        assertThat(driver.handle(new ShufflesHeld(Set.of(1, 2, 3)), m -> {})).isEqualTo(new ShufflesGone(Set.of()));
    }

    @Test
    void memberThatCannotBeReachedDoesNotKeepOthersFromHearing() {
        driver.handle(new Announce(member("9", 9)), m -> {
            throw new IllegalStateException("gone");
        });
        announce(member("1", 1));
        announce(member("2", 2));
        announce(member("3", 3));

        assertThat(pushedToFirst).hasSize(2);
    }

    @Test
    void memoryOfTheDepartedIsBounded() {
        DepartedMembers departed = new DepartedMembers(2);
        departed.add("1", member("1", 1).incarnation());
        departed.add("2", null);
        departed.add("3", null);

        assertThat(departed.contains(member("1", 1))).isFalse();
        assertThat(departed.contains(member("2", 1))).isTrue();
        assertThat(departed.contains(member("3", 7))).isTrue();
    }
}
