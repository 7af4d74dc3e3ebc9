// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import com.esotericsoftware.kryo.kryo5.io.Input;
import com.esotericsoftware.kryo.kryo5.io.Output;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.CompressionReply;
import io.rdmashuffle.registry.RegistryMessage.CompressionRequest;
import io.rdmashuffle.registry.RegistryMessage.EncodedUpdate;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.ReportRequest;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotBehind;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.StatisticsReply;
import io.rdmashuffle.registry.RegistryMessage.StatisticsRequest;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.registry.RegistryMessage.Welcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * How the fields of each {@link MessageType} are written.
 *
 * <p>Of Kryo only its streams are used: a Kryo instance takes an executor a hundred classes more, in its first task.
 *
 * <p><b>Threading:</b> stateless.
 */
final class MessageSerializers {
    static final int MAX_MEMBERS = 65_536;
    static final int MAX_COUNTERS = 1024;
    static final int MAX_SHUFFLES = 65_536;
    static final int MAX_REASON_BYTES = 4096;

    private MessageSerializers() {}

    /** Writes the fields of a message. */
    static void write(Output out, RegistryMessage message) {
        if (message instanceof Announce announce) {
            writeMember(out, announce.member());
        } else if (message instanceof AnnounceRefused refused) {
            BoundedFields.writeText(out, refused.reason(), MAX_REASON_BYTES, "reason");
        } else if (message instanceof Snapshot snapshot) {
            out.writeVarLong(snapshot.version(), true);
            writeMembers(out, snapshot.members(), MAX_MEMBERS);
        } else if (message instanceof MembershipUpdate update) {
            writeUpdate(out, update);
        } else if (message instanceof Lookup lookup) {
            writeName(out, lookup.executorId());
        } else if (message instanceof LookupReply reply) {
            writeReply(out, reply);
        } else if (message instanceof StatisticsReply reply) {
            ReportSerializer.writeCounters(out, reply.counters());
        } else if (message instanceof ShufflesHeld held) {
            writeShuffles(out, held.shuffleIds());
        } else if (message instanceof ShufflesGone gone) {
            out.writeVarLong(gone.version(), true);
            writeShuffles(out, gone.shuffleIds());
        } else if (message instanceof Welcome welcome) {
            out.writeVarLong(welcome.version(), true);
            writeMembers(out, welcome.sources(), Welcome.MAX_SOURCES);
        } else if (message instanceof SnapshotBehind behind) {
            out.writeVarLong(behind.version(), true);
        } else if (message instanceof Relay relay) {
            writeRelay(out, relay);
        } else if (message instanceof CompressionRequest request) {
            out.writeVarInt(request.shuffleId(), true);
        } else if (message instanceof CompressionReply reply) {
            out.writeBoolean(reply.compressed());
        } else if (message instanceof Report report) {
            ReportSerializer.write(out, report);
        }
        // The others have no fields.
    }

    /** Reads the fields of a message. */
    static RegistryMessage read(Input in, MessageType type) {
        return switch (type) {
            case ANNOUNCE -> new Announce(readMember(in));
            case ANNOUNCE_REFUSED -> new AnnounceRefused(BoundedFields.readText(in, MAX_REASON_BYTES, "reason"));
            case SNAPSHOT -> new Snapshot(readVersion(in), readMembers(in, MAX_MEMBERS));
            case MEMBERSHIP_UPDATE -> readUpdate(in);
            case LOOKUP -> new Lookup(readName(in));
            case LOOKUP_REPLY ->
                new LookupReply(readVersion(in), readName(in), in.readBoolean() ? readMember(in) : null);
            case STATISTICS_REQUEST -> new StatisticsRequest();
            case STATISTICS_REPLY -> new StatisticsReply(ReportSerializer.readCounters(in));
            case SHUFFLES_HELD -> new ShufflesHeld(readShuffles(in));
            case SHUFFLES_GONE -> new ShufflesGone(readVersion(in), readShuffles(in));
            case WELCOME -> new Welcome(readVersion(in), readMembers(in, Welcome.MAX_SOURCES));
            case SNAPSHOT_REQUEST -> new SnapshotRequest();
            case SNAPSHOT_BEHIND -> new SnapshotBehind(readVersion(in));
            case RELAY -> readRelay(in);
            case TAKEN -> new Taken();
            case COMPRESSION_REQUEST -> new CompressionRequest(in.readVarInt(true));
            case COMPRESSION_REPLY -> new CompressionReply(in.readBoolean());
            case REPORT_REQUEST -> new ReportRequest();
            case REPORT -> ReportSerializer.read(in);
        };
    }

    private static void writeRelay(Output out, Relay relay) {
        out.writeInt((int) relay.range().first());
        out.writeInt((int) relay.range().last());
        out.writeBytes(relay.update().body());
    }

    private static Relay readRelay(Input in) {
        HashRange range = new HashRange(Integer.toUnsignedLong(in.readInt()), Integer.toUnsignedLong(in.readInt()));
        int start = in.position();
        MembershipUpdate update = readUpdate(in);
        return new Relay(range, new EncodedUpdate(update, Arrays.copyOfRange(in.getBuffer(), start, in.position())));
    }

    private static void writeUpdate(Output out, MembershipUpdate update) {
        out.writeVarLong(update.version(), true);
        writeMembers(out, update.added(), MAX_MEMBERS);
        BoundedFields.writeCount(out, update.removed().size(), MAX_MEMBERS, "removed members");
        update.removed().forEach(id -> writeName(out, id));
    }

    private static MembershipUpdate readUpdate(Input in) {
        long version = readVersion(in);
        List<Member> added = readMembers(in, MAX_MEMBERS);
        int count = BoundedFields.readCount(in, MAX_MEMBERS, "removed members");
        List<String> removed = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            removed.add(readName(in));
        }
        return new MembershipUpdate(version, added, removed);
    }

    private static void writeReply(Output out, LookupReply reply) {
        out.writeVarLong(reply.version(), true);
        writeName(out, reply.executorId());
        Member member = reply.member();
        out.writeBoolean(member != null);
        if (member != null) {
            writeMember(out, member);
        }
    }

    private static void writeShuffles(Output out, Set<Integer> shuffleIds) {
        BoundedFields.writeCount(out, shuffleIds.size(), MAX_SHUFFLES, "shuffles");
        shuffleIds.forEach(id -> out.writeVarInt(id, true));
    }

    private static Set<Integer> readShuffles(Input in) {
        int count = BoundedFields.readCount(in, MAX_SHUFFLES, "shuffles");
        Set<Integer> shuffleIds = new HashSet<>();
        for (int i = 0; i < count; i++) {
            shuffleIds.add(in.readVarInt(true));
        }
        return shuffleIds;
    }

    private static void writeMembers(Output out, List<Member> members, int max) {
        BoundedFields.writeCount(out, members.size(), max, "members");
        members.forEach(member -> writeMember(out, member));
    }

    private static List<Member> readMembers(Input in, int max) {
        int count = BoundedFields.readCount(in, max, "members");
        List<Member> members = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            members.add(readMember(in));
        }
        return members;
    }

    private static void writeMember(Output out, Member member) {
        writeName(out, member.executorId());
        out.writeLong(member.incarnation().getMostSignificantBits());
        out.writeLong(member.incarnation().getLeastSignificantBits());
        Map<String, byte[]> addresses = member.addressesInPlace();
        BoundedFields.writeCount(out, addresses.size(), Member.MAX_FABRICS, "fabrics");
        addresses.forEach((fabric, address) -> {
            writeName(out, fabric);
            BoundedFields.writeBytes(out, address, Member.MAX_ADDRESS_BYTES, "address");
        });
    }

    private static Member readMember(Input in) {
        String executorId = readName(in);
        UUID incarnation = new UUID(in.readLong(), in.readLong());
        int count = BoundedFields.readCount(in, Member.MAX_FABRICS, "fabrics");
        Map<String, byte[]> addresses = new HashMap<>();
        for (int i = 0; i < count; i++) {
            addresses.put(readName(in), BoundedFields.readBytes(in, Member.MAX_ADDRESS_BYTES, "address"));
        }
        return new Member(executorId, incarnation, addresses);
    }

    private static long readVersion(Input in) {
        long version = in.readVarLong(true);
        if (version < 0) {
            throw new RegistryCodecException("version " + version + " is negative");
        }
        return version;
    }

    private static void writeName(Output out, String name) {
        BoundedFields.writeText(out, name, Member.MAX_NAME_BYTES, "name");
    }

    private static String readName(Input in) {
        return BoundedFields.readText(in, Member.MAX_NAME_BYTES, "name");
    }
}
