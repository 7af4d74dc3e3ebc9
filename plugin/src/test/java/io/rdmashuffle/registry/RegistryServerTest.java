// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryMessage.ReportRequest;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.Welcome;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class RegistryServerTest {
    private final RegistryCodec codec = new RegistryCodec();
    private final AtomicInteger flushesWanted = new AtomicInteger();
    private final AtomicLong clockNanos = new AtomicLong();
    private final RegistryServer driver =
            new RegistryServer(shuffleId -> true, flushesWanted::incrementAndGet, 5, clockNanos::get);
    private final List<RegistryMessage> pushedToFirst = new ArrayList<>();

    /** Announces a member and flushes changes. */
    private @Nullable RegistryMessage announce(Member member) {
        RegistryMessage answer = announceOnly(member);
        driver.flush();
        return answer;
    }

    private @Nullable RegistryMessage announceOnly(Member member) {
        return driver.handle(
                new Announce(member),
                member.executorId().equals("1") ? bytes -> pushedToFirst.add(codec.decode(bytes)) : m -> {});
    }

    @Test
    void announcementIsAnsweredAndPushed() {
        assertThat(announce(member("1", 1))).isEqualTo(new Snapshot(0, List.of(member("1", 1))));
        assertThat(announce(member("2", 2))).isEqualTo(new Snapshot(1, List.of(member("1", 1), member("2", 2))));

        assertThat(pushedToFirst)
                .containsExactly(
                        new MembershipUpdate(1, List.of(member("1", 1)), List.of()),
                        new MembershipUpdate(2, List.of(member("2", 2)), List.of()));
        assertThat(driver.members()).containsExactly(member("1", 1), member("2", 2));
    }

    @Test
    void repeatedAnnouncementChangesNothing() {
        announce(member("1", 1));
        announce(member("2", 2));
        assertThat(announce(member("2", 2))).isEqualTo(new Snapshot(2, List.of(member("1", 1), member("2", 2))));

        assertThat(driver.version()).isEqualTo(2);
        assertThat(pushedToFirst).hasSize(2);
    }

    @Test
    void endedMemberStaysKnownAndIsToldNothing() {
        announce(member("1", 1));
        announce(member("2", 2));
        pushedToFirst.clear();
        driver.memberEnded("1");
        driver.memberEnded("never heard of");
        assertThat(announce(member("3", 3)))
                .isEqualTo(new Snapshot(2, List.of(member("1", 1), member("2", 2), member("3", 3))));
        assertThat(pushedToFirst).isEmpty();
        assertThat(announce(member("1", 1))).isInstanceOf(AnnounceRefused.class);
        assertThat(driver.handle(new Lookup("1"), bytes -> {})).isEqualTo(new LookupReply(3, "1", member("1", 1)));

        driver.memberRemoved("1");
        driver.flush();
        assertThat(driver.members()).containsExactly(member("2", 2), member("3", 3));
    }

    @Test
    void theAddressesOfAnEndedMemberChangeWithItsHeir() {
        announce(member("1", 1));
        announce(member("2", 2));
        Member inherited = new Member(
                "1", member("1", 1).incarnation(), Map.of(Member.HEIR, "2".getBytes(StandardCharsets.UTF_8)));
        driver.memberInherited(inherited);
        driver.flush();
        assertThat(driver.members()).as("it has not ended").contains(member("1", 1));

        driver.memberEnded("1");
        pushedToFirst.clear();
        driver.memberInherited(new Member("1", new UUID(9, 9), Map.of()));
        driver.memberInherited(inherited);
        driver.flush();
        assertThat(driver.members()).containsExactly(inherited, member("2", 2));
        assertThat(driver.handle(new Lookup("1"), bytes -> {})).isEqualTo(new LookupReply(3, "1", inherited));
        assertThat(pushedToFirst).as("it has ended").isEmpty();
        assertThat(announce(member("1", 1))).isInstanceOf(AnnounceRefused.class);
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
        driver.flush();

        assertThat(pushedToFirst).endsWith(new MembershipUpdate(3, List.of(), List.of("2")));
        assertThat(announce(member("2", 2))).isInstanceOf(AnnounceRefused.class);
        assertThat(driver.version()).isEqualTo(3);
    }

    @Test
    void removedExecutorMayComeBackAsAnotherProcess() {
        announce(member("2", 2));
        driver.memberRemoved("2");
        driver.memberRemoved("2");
        driver.flush();

        assertThat(announce(member("2", 3))).isEqualTo(new Snapshot(2, List.of(member("2", 3))));
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
        assertThat(driver.handle(new ReportRequest(), m -> {})).isNull();
        assertThat(driver.messagesReceived()).isEqualTo(4);
    }

    @Test
    void removedShufflesAreToldFromThoseThatExist() {
        RegistryServer some = new RegistryServer(shuffleId -> shuffleId % 2 == 0, () -> {});

        assertThat(some.handle(new ShufflesHeld(Set.of(1, 2, 3)), m -> {}))
                .isEqualTo(new ShufflesGone(0, Set.of(1, 3)));
        assertThat(driver.handle(new ShufflesHeld(Set.of(1, 2, 3)), m -> {})).isEqualTo(new ShufflesGone(0, Set.of()));
    }

    @Test
    void unreachableMemberDoesNotBlockOthers() {
        driver.handle(new Announce(member("9", 9)), m -> {
            throw new IllegalStateException("gone");
        });
        announce(member("1", 1));
        announce(member("2", 2));
        announce(member("3", 3));

        assertThat(pushedToFirst).hasSize(3);
    }

    @Test
    void changesAreSentAsOneUpdateOfTheFinalState() {
        announce(member("1", 1));
        assertThat(flushesWanted).hasValue(1);

        announceOnly(member("2", 2));
        announceOnly(member("3", 3));
        assertThat(announceOnly(member("4", 4, 1)))
                .as("the current members, with the previous version")
                .isEqualTo(new Snapshot(1, List.of(member("1", 1), member("2", 2), member("3", 3), member("4", 4, 1))));
        announceOnly(member("4", 4, 2));
        driver.memberRemoved("3");
        assertThat(driver.handle(new Lookup("3"), m -> {})).isEqualTo(new LookupReply(1, "3", null));
        assertThat(driver.handle(new Lookup("2"), m -> {})).isEqualTo(new LookupReply(1, "2", member("2", 2)));
        assertThat(flushesWanted).as("asked for once").hasValue(2);
        assertThat(pushedToFirst).hasSize(1);

        driver.flush();
        driver.flush();
        assertThat(pushedToFirst)
                .hasSize(2)
                .endsWith(new MembershipUpdate(2, List.of(member("2", 2), member("4", 4, 2)), List.of("3")));
        announceOnly(member("5", 5));
        assertThat(flushesWanted).hasValue(3);
    }

    @Test
    void largeClusterIsWelcomedAndToldThroughAFewMembers() {
        List<String> delivered = new ArrayList<>();
        for (int i = 1; i <= 40; i++) {
            String id = "" + i;
            RegistryMessage answer = driver.handle(new Announce(member(id, i)), bytes -> {
                if (codec.decode(bytes) instanceof Relay) {
                    delivered.add(id);
                }
            });
            assertThat(answer).isInstanceOf(i <= 5 ? Snapshot.class : Welcome.class);
            if (i == 10) {
                driver.flush();
                delivered.clear();
            }
        }
        driver.flush();
        assertThat(delivered).hasSize(RelayParts.MAX_DRIVER_PARTS).doesNotHaveDuplicates();

        driver.memberRemoved("7");
        Welcome welcome = (Welcome) Objects.requireNonNull(announceOnly(member("41", 1)));
        assertThat(welcome.version()).isEqualTo(2);
        assertThat(welcome.sources())
                .hasSizeBetween(1, 3)
                .doesNotHaveDuplicates()
                .doesNotContain(member("7", 7), member("41", 1));
        assertThat(driver.handle(new SnapshotRequest(), m -> {})).isEqualTo(new Snapshot(2, driver.members()));
    }

    @Test
    void versionsAreToldAsSettledAfterAWhile() {
        announce(member("1", 1));
        clockNanos.addAndGet(FlushTimes.SETTLE.toNanos() - 1);
        announce(member("2", 2));
        assertThat(driver.handle(new ShufflesHeld(Set.of()), m -> {})).isEqualTo(new ShufflesGone(0, Set.of()));
        clockNanos.addAndGet(1);
        assertThat(driver.handle(new ShufflesHeld(Set.of()), m -> {})).isEqualTo(new ShufflesGone(1, Set.of()));
        clockNanos.addAndGet(FlushTimes.SETTLE.toNanos());
        assertThat(driver.handle(new ShufflesHeld(Set.of()), m -> {})).isEqualTo(new ShufflesGone(2, Set.of()));
    }

    @Test
    void memoryOfRetiredMembersIsBounded() {
        RetiredMembers retired = new RetiredMembers(2);
        retired.add("1", member("1", 1).incarnation());
        retired.add("2", null);
        retired.add("3", null);

        assertThat(retired.contains(member("1", 1))).isFalse();
        assertThat(retired.contains(member("2", 1))).isTrue();
        assertThat(retired.contains(member("3", 7))).isTrue();
    }
}
