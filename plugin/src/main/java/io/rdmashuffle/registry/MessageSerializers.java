// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import com.esotericsoftware.kryo.kryo5.io.Input;
import com.esotericsoftware.kryo.kryo5.io.Output;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.CompressionReply;
import io.rdmashuffle.registry.RegistryMessage.CompressionRequest;
import io.rdmashuffle.registry.RegistryMessage.EncodedUpdate;
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
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * Kryo serializers of the fields of each {@link MessageType}. No length on the wire makes the reader allocate more than
 * the bytes that are really there.
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
    static final int MAX_LATENCIES = 256;
    static final int MAX_PATHS = 16;
    private static final List<Occasion> OCCASIONS = List.of(Occasion.values());

    private MessageSerializers() {}

    /** Writes the fields of a message. */
    static void write(Output out, RegistryMessage message) {
        if (message instanceof Announce announce) {
            writeMember(out, announce.member());
        } else if (message instanceof AnnounceRefused refused) {
            writeText(out, refused.reason(), MAX_REASON_BYTES, "reason");
        } else if (message instanceof Snapshot snapshot) {
            out.writeVarLong(snapshot.version(), true);
            writeMembers(out, snapshot.members(), MAX_MEMBERS);
        } else if (message instanceof MembershipUpdate update) {
            writeUpdate(out, update);
        } else if (message instanceof Lookup lookup) {
            writeName(out, lookup.executorId());
        } else if (message instanceof LookupReply reply) {
            writeReply(out, reply);
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
            writeReport(out, report);
        } else if (message instanceof Inherit inherit) {
            writeMember(out, inherit.ended());
        } else if (message instanceof Inherited inherited) {
            writeMember(out, inherited.ended());
        } else if (message instanceof MoveToDisk move) {
            writeName(out, move.executorId());
            writeShuffles(out, move.shuffleIds());
        } else if (message instanceof Refused refusal) {
            writeText(out, refusal.reason(), MAX_REASON_BYTES, "reason");
        }
        // The others have no fields.
    }

    /** Reads the fields of a message. */
    static RegistryMessage read(Input in, MessageType type) {
        return switch (type) {
            case ANNOUNCE -> new Announce(readMember(in));
            case ANNOUNCE_REFUSED -> new AnnounceRefused(readText(in, MAX_REASON_BYTES, "reason"));
            case SNAPSHOT -> new Snapshot(readVersion(in), readMembers(in, MAX_MEMBERS));
            case MEMBERSHIP_UPDATE -> readUpdate(in);
            case LOOKUP -> new Lookup(readName(in));
            case LOOKUP_REPLY ->
                new LookupReply(readVersion(in), readName(in), in.readBoolean() ? readMember(in) : null);
            case SHUFFLES_HELD -> new ShufflesHeld(readShuffles(in));
            case SHUFFLES_GONE -> new ShufflesGone(readVersion(in), readShuffles(in));
            case WELCOME -> new Welcome(readVersion(in), readMembers(in, Welcome.MAX_SOURCES));
            case SNAPSHOT_REQUEST -> new SnapshotRequest();
            case SNAPSHOT_BEHIND -> new SnapshotBehind(readVersion(in));
            case RELAY -> readRelay(in);
            case TAKEN -> new Taken();
            case LEAVE_FILES -> new LeaveFiles();
            case COMPRESSION_REQUEST -> new CompressionRequest(in.readVarInt(true));
            case COMPRESSION_REPLY -> new CompressionReply(in.readBoolean());
            case REPORT_REQUEST -> new ReportRequest();
            case REPORT -> readReport(in);
            case INHERIT -> new Inherit(readMember(in));
            case INHERITED -> new Inherited(readMember(in));
            case MOVE_TO_DISK -> new MoveToDisk(readName(in), readShuffles(in));
            case REFUSED -> new Refused(readText(in, MAX_REASON_BYTES, "reason"));
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
        writeAll(out, update.removed(), MAX_MEMBERS, "removed members", MessageSerializers::writeName);
    }

    private static MembershipUpdate readUpdate(Input in) {
        return new MembershipUpdate(
                readVersion(in),
                readMembers(in, MAX_MEMBERS),
                readAll(in, MAX_MEMBERS, "removed members", MessageSerializers::readName));
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
        writeAll(out, shuffleIds, MAX_SHUFFLES, "shuffles", (to, id) -> to.writeVarInt(id, true));
    }

    private static Set<Integer> readShuffles(Input in) {
        return Set.copyOf(readAll(in, MAX_SHUFFLES, "shuffles", from -> from.readVarInt(true)));
    }

    private static void writeReport(Output out, Report report) {
        writeName(out, report.executorId());
        writeName(out, report.host());
        out.writeByte(OCCASIONS.indexOf(report.occasion()));
        writeByName(out, report.counters(), MAX_COUNTERS, "counters", (to, value) -> to.writeVarLong(value, false));
        writeAll(out, report.readLatencies(), MAX_LATENCIES, "latencies", (to, count) -> to.writeVarLong(count, true));
        writeAll(out, report.paths(), MAX_PATHS, "paths", (to, group) -> {
            writeName(to, group.path());
            to.writeVarInt(group.executors(), true);
            writeNames(to, group.some());
        });
        writeNames(out, report.quarantined());
        writeText(out, report.whyNotRdma(), MAX_REASON_BYTES, "reason");
    }

    private static Report readReport(Input in) {
        return new Report(
                readName(in),
                readName(in),
                readOccasion(in),
                readByName(in, MAX_COUNTERS, "counters", from -> from.readVarLong(false)),
                readAll(in, MAX_LATENCIES, "latencies", from -> from.readVarLong(true)),
                readAll(
                        in,
                        MAX_PATHS,
                        "paths",
                        from -> new PathGroup(readName(from), from.readVarInt(true), readNames(from))),
                readNames(in),
                readText(in, MAX_REASON_BYTES, "reason"));
    }

    private static Occasion readOccasion(Input in) {
        int number = in.readByte();
        if (number < 0 || number >= OCCASIONS.size()) {
            throw new RegistryCodecException("a report of unknown occasion " + number);
        }
        return OCCASIONS.get(number);
    }

    private static void writeMembers(Output out, List<Member> members, int max) {
        writeAll(out, members, max, "members", MessageSerializers::writeMember);
    }

    private static List<Member> readMembers(Input in, int max) {
        return readAll(in, max, "members", MessageSerializers::readMember);
    }

    private static void writeMember(Output out, Member member) {
        writeName(out, member.executorId());
        out.writeLong(member.incarnation().getMostSignificantBits());
        out.writeLong(member.incarnation().getLeastSignificantBits());
        writeByName(
                out,
                member.addressesInPlace(),
                Member.MAX_FABRICS,
                "fabrics",
                (to, address) -> writeBytes(to, address, Member.MAX_ADDRESS_BYTES, "address"));
    }

    private static Member readMember(Input in) {
        return new Member(
                readName(in),
                new UUID(in.readLong(), in.readLong()),
                readByName(
                        in,
                        Member.MAX_FABRICS,
                        "fabrics",
                        from -> readBytes(from, Member.MAX_ADDRESS_BYTES, "address")));
    }

    private static long readVersion(Input in) {
        long version = in.readVarLong(true);
        if (version < 0) {
            throw new RegistryCodecException("version " + version + " is negative");
        }
        return version;
    }

    private static void writeName(Output out, String name) {
        writeText(out, name, Member.MAX_NAME_BYTES, "name");
    }

    private static String readName(Input in) {
        return readText(in, Member.MAX_NAME_BYTES, "name");
    }

    private static void writeNames(Output out, List<String> names) {
        writeAll(out, names, PathGroup.MAX_NAMED, "names", MessageSerializers::writeName);
    }

    private static List<String> readNames(Input in) {
        return readAll(in, PathGroup.MAX_NAMED, "names", MessageSerializers::readName);
    }

    private static <T> void writeAll(
            Output out, Collection<T> values, int max, String what, BiConsumer<Output, T> write) {
        writeCount(out, values.size(), max, what);
        values.forEach(value -> write.accept(out, value));
    }

    /** Reads values that take at least one byte each. */
    private static <T> List<T> readAll(Input in, int max, String what, Function<Input, T> read) {
        int count = readCount(in, max, what);
        List<T> values = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            values.add(read.apply(in));
        }
        return values;
    }

    private static <V> void writeByName(
            Output out, Map<String, V> values, int max, String what, BiConsumer<Output, V> write) {
        writeCount(out, values.size(), max, what);
        values.forEach((name, value) -> {
            writeName(out, name);
            write.accept(out, value);
        });
    }

    private static <V> Map<String, V> readByName(Input in, int max, String what, Function<Input, V> read) {
        int count = readCount(in, max, what);
        Map<String, V> values = new HashMap<>();
        for (int i = 0; i < count; i++) {
            values.put(readName(in), read.apply(in));
        }
        return values;
    }

    private static void writeCount(Output out, int count, int max, String what) {
        check(count, max, what);
        out.writeVarInt(count, true);
    }

    /** Reads a count of things that take at least one byte each. */
    private static int readCount(Input in, int max, String what) {
        int count = in.readVarInt(true);
        check(count, max, what);
        int remaining = in.limit() - in.position();
        if (count > remaining) {
            throw new RegistryCodecException(count + " " + what + " announced, " + remaining + " bytes left");
        }
        return count;
    }

    private static void writeBytes(Output out, byte[] bytes, int max, String what) {
        writeCount(out, bytes.length, max, "bytes of " + what);
        out.writeBytes(bytes);
    }

    private static byte[] readBytes(Input in, int max, String what) {
        return in.readBytes(readCount(in, max, "bytes of " + what));
    }

    private static void writeText(Output out, String text, int max, String what) {
        writeBytes(out, text.getBytes(StandardCharsets.UTF_8), max, what);
    }

    private static String readText(Input in, int max, String what) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(readBytes(in, max, what)))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new RegistryCodecException(what + " is not UTF-8", e);
        }
    }

    private static void check(int count, int max, String what) {
        if (count < 0 || count > max) {
            throw new RegistryCodecException(
                    Integer.toUnsignedString(count) + " " + what + ": at most " + max + " are allowed");
        }
    }
}
