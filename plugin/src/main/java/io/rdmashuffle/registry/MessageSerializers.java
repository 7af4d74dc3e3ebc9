// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import com.esotericsoftware.kryo.kryo5.Kryo;
import com.esotericsoftware.kryo.kryo5.Serializer;
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
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One Kryo serializer per message, and the numbers under which they are known on the wire.
 *
 * <p><b>Threading:</b> stateless serializers; a {@link Kryo} belongs to one thread at a time.
 */
final class MessageSerializers {
    /** Types on the wire in the order of their numbers, from 1; append only. */
    static final List<Class<? extends RegistryMessage>> TYPES = List.of(
            Announce.class,
            AnnounceRefused.class,
            Snapshot.class,
            MembershipUpdate.class,
            Lookup.class,
            LookupReply.class,
            StatisticsRequest.class,
            StatisticsReply.class,
            ShufflesHeld.class,
            ShufflesGone.class,
            Welcome.class,
            SnapshotRequest.class,
            SnapshotBehind.class,
            Relay.class,
            Taken.class,
            CompressionRequest.class,
            CompressionReply.class,
            ReportRequest.class,
            Report.class);

    static final int MAX_MEMBERS = 65_536;
    static final int MAX_COUNTERS = 1024;
    static final int MAX_SHUFFLES = 65_536;
    static final int MAX_REASON_BYTES = 4096;

    /** Kryo keeps 0 to 9 for primitives. */
    private static final int FIRST_KRYO_ID = 16;

    private MessageSerializers() {}

    static Kryo newKryo() {
        Kryo kryo = new Kryo();
        kryo.setRegistrationRequired(true);
        kryo.setReferences(false);
        int id = FIRST_KRYO_ID;
        kryo.register(
                Announce.class,
                serializer((out, m) -> writeMember(out, m.member()), in -> new Announce(readMember(in))),
                id++);
        kryo.register(
                AnnounceRefused.class,
                serializer(
                        (out, m) -> BoundedFields.writeText(out, m.reason(), MAX_REASON_BYTES, "reason"),
                        in -> new AnnounceRefused(BoundedFields.readText(in, MAX_REASON_BYTES, "reason"))),
                id++);
        kryo.register(
                Snapshot.class, serializer(MessageSerializers::writeSnapshot, MessageSerializers::readSnapshot), id++);
        kryo.register(
                MembershipUpdate.class,
                serializer(MessageSerializers::writeUpdate, MessageSerializers::readUpdate),
                id++);
        kryo.register(
                Lookup.class,
                serializer((out, m) -> writeName(out, m.executorId()), in -> new Lookup(readName(in))),
                id++);
        kryo.register(
                LookupReply.class, serializer(MessageSerializers::writeReply, MessageSerializers::readReply), id++);
        kryo.register(StatisticsRequest.class, serializer((out, m) -> {}, in -> new StatisticsRequest()), id++);
        kryo.register(
                StatisticsReply.class,
                serializer(
                        (out, m) -> ReportSerializer.writeCounters(out, m.counters()),
                        in -> new StatisticsReply(ReportSerializer.readCounters(in))),
                id++);
        kryo.register(
                ShufflesHeld.class,
                serializer((out, m) -> writeShuffles(out, m.shuffleIds()), in -> new ShufflesHeld(readShuffles(in))),
                id++);
        kryo.register(
                ShufflesGone.class,
                serializer(
                        (out, m) -> {
                            out.writeVarLong(m.version(), true);
                            writeShuffles(out, m.shuffleIds());
                        },
                        in -> new ShufflesGone(readVersion(in), readShuffles(in))),
                id++);
        registerLater(kryo, id);
        return kryo;
    }

    /** How a change reaches every member of a large cluster, and what came after that. */
    private static void registerLater(Kryo kryo, int firstId) {
        int id = firstId;
        kryo.register(
                Welcome.class,
                serializer(
                        (out, m) -> {
                            out.writeVarLong(m.version(), true);
                            writeMembers(out, m.sources(), Welcome.MAX_SOURCES);
                        },
                        in -> new Welcome(readVersion(in), readMembers(in, Welcome.MAX_SOURCES))),
                id++);
        kryo.register(SnapshotRequest.class, serializer((out, m) -> {}, in -> new SnapshotRequest()), id++);
        kryo.register(
                SnapshotBehind.class,
                serializer((out, m) -> out.writeVarLong(m.version(), true), in -> new SnapshotBehind(readVersion(in))),
                id++);
        kryo.register(Relay.class, serializer(MessageSerializers::writeRelay, MessageSerializers::readRelay), id++);
        kryo.register(Taken.class, serializer((out, m) -> {}, in -> new Taken()), id++);
        kryo.register(
                CompressionRequest.class,
                serializer(
                        (out, m) -> out.writeVarInt(m.shuffleId(), true),
                        in -> new CompressionRequest(in.readVarInt(true))),
                id++);
        kryo.register(
                CompressionReply.class,
                serializer((out, m) -> out.writeBoolean(m.compressed()), in -> new CompressionReply(in.readBoolean())),
                id++);
        kryo.register(ReportRequest.class, serializer((out, m) -> {}, in -> new ReportRequest()), id++);
        kryo.register(Report.class, serializer(ReportSerializer::write, ReportSerializer::read), id);
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

    private static void writeSnapshot(Output out, Snapshot snapshot) {
        out.writeVarLong(snapshot.version(), true);
        writeMembers(out, snapshot.members(), MAX_MEMBERS);
    }

    private static Snapshot readSnapshot(Input in) {
        return new Snapshot(readVersion(in), readMembers(in, MAX_MEMBERS));
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

    private static LookupReply readReply(Input in) {
        return new LookupReply(readVersion(in), readName(in), in.readBoolean() ? readMember(in) : null);
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

    private static <T> Serializer<T> serializer(BiConsumer<Output, T> writer, Function<Input, T> reader) {
        return new Serializer<>(false, true) {
            @Override
            public void write(Kryo kryo, Output output, T message) {
                writer.accept(output, message);
            }

            @Override
            public T read(Kryo kryo, Input input, @Nullable Class<? extends T> type) {
                return reader.apply(input);
            }
        };
    }
}
