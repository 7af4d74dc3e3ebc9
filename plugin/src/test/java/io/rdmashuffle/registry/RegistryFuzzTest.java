// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.CompressionReply;
import io.rdmashuffle.registry.RegistryMessage.CompressionRequest;
import io.rdmashuffle.registry.RegistryMessage.LeaveFiles;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import io.rdmashuffle.registry.RegistryMessage.ReportRequest;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotBehind;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.registry.RegistryMessage.Welcome;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Damaged messages of the registry: one exception, or a message that driver and executors can live with. */
@Tag("unit")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RegistryFuzzTest {
    private static final Member MEMBER = new Member(
            "7",
            new UUID(1, 2),
            Map.of("shm", new byte[] {1, 2, 3}, "verbs", new byte[] {4}, "directory", new byte[2]));

    /** One of each type. */
    private static final List<RegistryMessage> MESSAGES = List.of(
            new Announce(MEMBER),
            new AnnounceRefused("gone"),
            new Snapshot(300, List.of(MEMBER, TestMembers.member("8", 3))),
            new MembershipUpdate(301, List.of(MEMBER), List.of("3", "4")),
            new Lookup("12"),
            new LookupReply(5, "7", MEMBER),
            new ReportRequest(),
            new Report(
                    "7",
                    "host",
                    Occasion.DECOMMISSIONED,
                    Map.of("A_COUNTER", 5L, "B", -1L),
                    List.of(0L, 3L),
                    List.of(PathGroup.of("shm", List.of("8"))),
                    List.of("9"),
                    "none"),
            new ShufflesHeld(Set.of(0, 7, 300)),
            new ShufflesGone(300, Set.of(7)),
            new Welcome(300, List.of(MEMBER, TestMembers.member("8", 3))),
            new SnapshotRequest(),
            new SnapshotBehind(299),
            new Relay(
                    new HashRange(5, 1L << 31),
                    new RegistryCodec().encodeOnce(new MembershipUpdate(302, List.of(MEMBER), List.of("3", "4")))),
            new Taken(),
            new LeaveFiles(),
            new CompressionRequest(300),
            new CompressionReply(true));

    private final RegistryCodec codec = new RegistryCodec();

    @Test
    void everyDamagedMessageIsRefused() {
        try (FuzzRun run = new FuzzRun("registry message", RegistryCodecException.class)) {
            Mutations mutations = new Mutations(run.random());
            for (RegistryMessage message : MESSAGES) {
                byte[] valid = codec.encode(message);
                mutations.all(
                        valid,
                        run.times(200),
                        input -> run.attempt(input, () -> {
                            assertThat(codec.decode(input)).isEqualTo(message);
                            assertThat(Arrays.equals(valid, input))
                                    .as("damage that the checksum misses")
                                    .isTrue();
                            return true;
                        }));
            }
        }
    }

    @Test
    void damagedMessageIsRefusedOrHarmless() {
        try (FuzzRun run = new FuzzRun("registry message, sealed", RegistryCodecException.class)) {
            Mutations mutations = new Mutations(run.random());
            for (RegistryMessage message : MESSAGES) {
                byte[] valid = codec.encode(message);
                mutations.all(valid, run.times(200), damaged -> {
                    byte[] input = sealed(damaged);
                    run.attempt(input, () -> {
                        RegistryMessage decoded = codec.decode(input);
                        assertThat(codec.decode(codec.encode(decoded))).isEqualTo(decoded);
                        use(decoded);
                        return true;
                    });
                });
            }
            assertThat(run.harmless()).as("some damage only changes content").isPositive();
        }
    }

    /** Whatever a message says, who hears it must go on. */
    private static void use(RegistryMessage message) {
        RegistryServer driver = new RegistryServer(shuffleId -> true, () -> {});
        driver.handle(new Announce(TestMembers.member("1", 1)), pushed -> {});
        driver.handle(message, pushed -> {});
        driver.flush();
        assertThat(driver.members()).hasSizeBetween(1, 2);
        try (RegistryAgent agent = new RegistryAgent(
                "own", (request, timeout) -> message, TestMembers.NO_PEERS, Duration.ofSeconds(1), 0, () -> 0)) {
            agent.announce(TestMembers.member("own", 1));
            if (message instanceof Relay relay) {
                agent.onRelay(relay);
            }
            agent.removedShuffles(Set.of(7));
            agent.repair();
            assertThat(agent.snapshotFor(1)).isNotNull();
        }

        MembershipView view = new MembershipView("own", new MembershipEvents());
        if (message instanceof Snapshot snapshot) {
            view.apply(snapshot);
        } else if (message instanceof MembershipUpdate update) {
            view.apply(update);
        } else if (message instanceof LookupReply reply) {
            view.apply(reply);
        }
        view.apply(new MembershipUpdate(1, List.of(TestMembers.member("2", 1)), List.of()));
        assertThat(view.members()).doesNotContainNull();
    }

    /** Makes magic, version, length and checksum right, whatever the rest is. */
    private static byte[] sealed(byte[] damaged) {
        byte[] bytes = damaged.clone();
        if (bytes.length >= RegistryCodec.HEADER_BYTES) {
            ByteBuffer.wrap(bytes)
                    .putInt(RegistryCodec.MAGIC)
                    .put(RegistryCodec.VERSION)
                    .putInt(6, bytes.length - RegistryCodec.HEADER_BYTES)
                    .putInt(10, RegistryCodec.crc(bytes));
        }
        return bytes;
    }
}
