// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.CompressionReply;
import io.rdmashuffle.registry.RegistryMessage.CompressionRequest;
import io.rdmashuffle.registry.RegistryMessage.Inherit;
import io.rdmashuffle.registry.RegistryMessage.Inherited;
import io.rdmashuffle.registry.RegistryMessage.LeaveFiles;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.MoveToDisk;
import io.rdmashuffle.registry.RegistryMessage.Refused;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

/** Makes members and messages for tests. */
final class TestMembers {
    /** Reaches no member. */
    static final PeerChannel NO_PEERS = new PeerChannel() {
        @Override
        public CompletableFuture<Void> push(Member to, RegistryMessage message) {
            return CompletableFuture.failedFuture(new RegistryUnavailableException("no way to " + to));
        }

        @Override
        public RegistryMessage pull(Member from, long atLeast, Duration timeout) throws RegistryUnavailableException {
            throw new RegistryUnavailableException("no way to " + from);
        }
    };

    private TestMembers() {}

    static Member member(String executorId, int incarnation) {
        return member(executorId, incarnation, 1);
    }

    static Member member(String executorId, int incarnation, int address) {
        return new Member(executorId, new UUID(0, incarnation), Map.of("shm", new byte[] {(byte) address}));
    }

    static RegistryMessage randomMessage(Random random) {
        return switch (random.nextInt(22)) {
            case 0 -> new Announce(randomMember(random));
            case 1 -> new AnnounceRefused(randomText(random));
            case 2 -> new Snapshot(randomVersion(random), randomMembers(random));
            case 3 -> new MembershipUpdate(randomVersion(random), randomMembers(random), randomNames(random));
            case 4 -> new Lookup(randomText(random));
            case 5 ->
                new LookupReply(
                        randomVersion(random), randomText(random), random.nextBoolean() ? randomMember(random) : null);
            case 6 -> new ShufflesHeld(randomShuffles(random));
            case 7 -> new ShufflesGone(randomVersion(random), randomShuffles(random));
            case 8 -> new Welcome(randomVersion(random), randomMembers(random));
            case 9 -> new SnapshotRequest();
            case 10 -> new SnapshotBehind(randomVersion(random));
            case 11 -> randomRelay(random);
            case 12 -> new Taken();
            case 13 -> new CompressionRequest(random.nextInt(Integer.MAX_VALUE));
            case 14 -> new CompressionReply(random.nextBoolean());
            case 15 -> new ReportRequest();
            case 16 -> new LeaveFiles();
            case 17 -> new Inherit(randomMember(random));
            case 18 -> new Inherited(randomMember(random));
            case 19 -> new Refused(randomText(random));
            case 20 -> new MoveToDisk(randomText(random), randomShuffles(random));
            default -> randomReport(random);
        };
    }

    private static Report randomReport(Random random) {
        Map<String, Long> counters = new HashMap<>();
        randomNames(random).forEach(name -> counters.put(name, random.nextLong()));
        List<PathGroup> paths = new ArrayList<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            paths.add(new PathGroup(randomText(random), random.nextInt(Integer.MAX_VALUE), randomNames(random)));
        }
        return new Report(
                randomText(random),
                randomText(random),
                List.of(Occasion.values()).get(random.nextInt(3)),
                counters,
                random.longs(random.nextInt(60), 0, Long.MAX_VALUE).boxed().toList(),
                paths,
                randomNames(random),
                randomText(random));
    }

    private static Relay randomRelay(Random random) {
        long first = Integer.toUnsignedLong(random.nextInt());
        long last = Integer.toUnsignedLong(random.nextInt());
        MembershipUpdate update =
                new MembershipUpdate(randomVersion(random), randomMembers(random), randomNames(random));
        return new Relay(
                new HashRange(Math.min(first, last), Math.max(first, last)), new RegistryCodec().encodeOnce(update));
    }

    private static Set<Integer> randomShuffles(Random random) {
        return random.ints(random.nextInt(20)).boxed().collect(Collectors.toSet());
    }

    private static Member randomMember(Random random) {
        Map<String, byte[]> addresses = new HashMap<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            byte[] address = new byte[random.nextInt(random.nextInt(8) == 0 ? Member.MAX_ADDRESS_BYTES + 1 : 40)];
            random.nextBytes(address);
            addresses.put(randomText(random), address);
        }
        return new Member(randomText(random), new UUID(random.nextLong(), random.nextLong()), addresses);
    }

    private static List<Member> randomMembers(Random random) {
        List<Member> members = new ArrayList<>();
        for (int i = random.nextInt(6); i > 0; i--) {
            members.add(randomMember(random));
        }
        return members;
    }

    private static List<String> randomNames(Random random) {
        List<String> names = new ArrayList<>();
        for (int i = random.nextInt(6); i > 0; i--) {
            names.add(randomText(random));
        }
        return names;
    }

    /** ASCII, accents, and characters outside the first plane. */
    private static String randomText(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = 1 + random.nextInt(20); i > 0; i--) {
            text.appendCodePoint(
                    switch (random.nextInt(4)) {
                        case 0 -> 0xc0 + random.nextInt(0x100);
                        case 1 -> 0x1f300 + random.nextInt(0x100);
                        default -> ' ' + random.nextInt(95);
                    });
        }
        return text.toString();
    }

    private static long randomVersion(Random random) {
        return random.nextLong() >>> (1 + random.nextInt(63));
    }
}
