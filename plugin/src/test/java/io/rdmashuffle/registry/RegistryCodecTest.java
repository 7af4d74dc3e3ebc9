// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.esotericsoftware.kryo.kryo5.io.Output;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import io.rdmashuffle.registry.RegistryMessage.ReportRequest;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class RegistryCodecTest {
    private static final int ROUNDS = 20_000;

    private final RegistryCodec codec = new RegistryCodec();
    private final long seed = new Random().nextLong();
    private final Random random = new Random(seed);

    @Test
    void roundTrip() {
        announceSeed("roundTrip");
        Set<MessageType> seen = EnumSet.noneOf(MessageType.class);
        for (int i = 0; i < ROUNDS / 10; i++) {
            RegistryMessage message = TestMembers.randomMessage(random);
            assertThat(codec.decode(codec.encode(message))).as("seed %d", seed).isEqualTo(message);
            seen.add(MessageType.of(message));
        }
        assertThat(seen).as("seed %d", seed).containsExactlyInAnyOrder(MessageType.values());
    }

    @Test
    void everyMessageHasOneType() {
        assertThat(Arrays.stream(MessageType.values()).map(MessageType::toString))
                .containsExactlyInAnyOrderElementsOf(Arrays.stream(RegistryMessage.class.getPermittedSubclasses())
                        .map(Class::getSimpleName)
                        .toList());
    }

    /** As docs/design/registry.md has them, from 1 on. */
    @Test
    void noNumberEverStandsForAnotherType() {
        List<String> names = List.of(
                "Announce",
                "AnnounceRefused",
                "Snapshot",
                "MembershipUpdate",
                "Lookup",
                "LookupReply",
                "ReportRequest",
                "Report",
                "ShufflesHeld",
                "ShufflesGone",
                "Welcome",
                "SnapshotRequest",
                "SnapshotBehind",
                "Relay",
                "Taken",
                "CompressionRequest",
                "CompressionReply",
                "LeaveFiles",
                "Inherit",
                "Inherited",
                "Refused",
                "MoveToDisk");
        for (int number = 1; number <= names.size(); number++) {
            assertThat(MessageType.numbered(number)).hasToString(names.get(number - 1));
            assertThat(MessageType.numbered(number).number()).isEqualTo(number);
        }
        assertThat(MessageType.values()).hasSameSizeAs(names);
    }

    /** docs/design/registry.md shows this layout; changing it needs a new protocol version. */
    @Test
    void bytesOnTheWireAreTheDocumentedOnes() {
        Member member = new Member("ab", new UUID(0x0102030405060708L, 0x1112131415161718L), Map.of("shm", new byte[] {
            (byte) 0xca, (byte) 0xfe
        }));
        byte[] bytes = codec.encode(new RegistryMessage.LookupReply(300, "ab", member));

        String header = "52535247" + "03" + "06" + "00000021";
        String body = "ac02" + "026162" + "01" + "026162" + "0807060504030201" + "1817161514131211" + "01" + "0373686d"
                + "02cafe";
        assertThat(HexFormat.of().formatHex(bytes, 0, 10)).isEqualTo(header);
        assertThat(HexFormat.of().formatHex(bytes, 14, bytes.length)).isEqualTo(body);
    }

    @Test
    void everyFlippedBitIsNoticed() {
        byte[] bytes = codec.encode(new Announce(TestMembers.member("7", 3)));
        for (int bit = 0; bit < 8 * bytes.length; bit++) {
            byte[] flipped = bytes.clone();
            flipped[bit / 8] ^= (byte) (1 << (bit % 8));
            assertThatThrownBy(() -> codec.decode(flipped))
                    .as("bit %d", bit)
                    .isInstanceOf(RegistryCodecException.class);
        }
    }

    @Test
    void everyTruncationIsNoticed() {
        byte[] bytes = codec.encode(new Announce(TestMembers.member("7", 3)));
        for (int length = 0; length < bytes.length; length++) {
            byte[] truncated = Arrays.copyOf(bytes, length);
            assertThatThrownBy(() -> codec.decode(truncated)).isInstanceOf(RegistryCodecException.class);
            assertThatThrownBy(() -> codec.decode(sealed(truncated))).isInstanceOf(RegistryCodecException.class);
        }
        assertThatThrownBy(() -> codec.decode(sealed(Arrays.copyOf(bytes, bytes.length + 1))))
                .isInstanceOf(RegistryCodecException.class)
                .hasMessageContaining("1 bytes after the end of a Announce");
    }

    /** Mutated messages whose length and checksum fit again reach the parsers behind the header. */
    @Test
    void hostileBytesGiveAMessageOrTheOneException() {
        announceSeed("hostileBytesGiveAMessageOrTheOneException");
        int accepted = 0;
        for (int i = 0; i < ROUNDS; i++) {
            byte[] bytes = sealed(mutated(codec.encode(TestMembers.randomMessage(random))));
            try {
                RegistryMessage message = codec.decode(bytes);
                assertThat(codec.decode(codec.encode(message)))
                        .as("seed %d", seed)
                        .isEqualTo(message);
                accepted++;
            } catch (RegistryCodecException e) {
                assertThat(e.getMessage()).isNotBlank();
            }
        }
        assertThat(accepted)
                .as("seed %d: some mutations only change content", seed)
                .isBetween(1, ROUNDS - 1);
    }

    @Test
    void randomBodiesDecodeOrFailCleanly() {
        announceSeed("randomBodiesDecodeOrFailCleanly");
        for (int i = 0; i < ROUNDS; i++) {
            byte[] bytes = new byte[RegistryCodec.HEADER_BYTES + random.nextInt(64)];
            random.nextBytes(bytes);
            bytes[5] = (byte) random.nextInt(MessageType.values().length + 2);
            try {
                assertThat(codec.decode(sealed(bytes))).isNotNull();
            } catch (RegistryCodecException e) {
                assertThat(e.getMessage()).isNotBlank();
            }
        }
    }

    @Test
    void announcedLengthsAllocateNothing() {
        for (int type : new int[] {2, 3, 4, 5, 8, 10, 11}) {
            Output output = new Output(64);
            output.writeBytes(new byte[RegistryCodec.HEADER_BYTES]);
            if (type == 3 || type == 4 || type >= 10) {
                output.writeVarLong(1, true);
            }
            output.writeVarInt(Integer.MAX_VALUE, true);
            byte[] bytes = output.toBytes();
            bytes[5] = (byte) type;
            assertThatThrownBy(() -> codec.decode(sealed(bytes)))
                    .isInstanceOf(RegistryCodecException.class)
                    .hasMessageContaining("2147483647")
                    .hasMessageContaining("at most");
        }
    }

    @Test
    void wrongMagicVersionAndTypeAreNamed() {
        byte[] magic = codec.encode(new ReportRequest());
        magic[0] = 0;
        assertThatThrownBy(() -> codec.decode(magic))
                .isInstanceOf(RegistryCodecException.class)
                .hasMessage("not a registry message: it starts with 00535247, not 52535247");

        byte[] version = codec.encode(new ReportRequest());
        version[4] = 9;
        assertThatThrownBy(() -> codec.decode(version))
                .isInstanceOf(RegistryCodecException.class)
                .hasMessageContaining("protocol version 9, expected 3")
                .hasMessageContaining("the same jar");

        byte[] type = codec.encode(new ReportRequest());
        type[5] = 77;
        assertThatThrownBy(() -> codec.decode(sealed(type)))
                .isInstanceOf(RegistryCodecException.class)
                .hasMessageContaining("unknown type 77");
    }

    @Test
    void messagesBeyondTheBoundsAreNotEncoded() {
        Map<String, Long> counters = new HashMap<>();
        IntStream.rangeClosed(0, MessageSerializers.MAX_COUNTERS).forEach(i -> counters.put("c" + i, 1L));
        Report fullReport = new Report("1", "host", Occasion.USUAL, counters, List.of(), List.of(), List.of(), "");
        assertThatThrownBy(() -> codec.encode(fullReport))
                .isInstanceOf(RegistryCodecException.class)
                .hasMessageContaining("1025 counters");
        assertThatThrownBy(() -> codec.encode(new Lookup("x".repeat(257)))).isInstanceOf(RegistryCodecException.class);

        Map<String, byte[]> addresses = new HashMap<>();
        IntStream.range(0, Member.MAX_FABRICS).forEach(i -> addresses.put("f" + i, new byte[Member.MAX_ADDRESS_BYTES]));
        Member fat = new Member("1", new UUID(1, 1), addresses);
        assertThat(codec.decode(codec.encode(new Announce(fat)))).isEqualTo(new Announce(fat));
        Snapshot tooLong = new Snapshot(1, Collections.nCopies(1100, fat));
        assertThatThrownBy(() -> codec.encode(tooLong)).isInstanceOf(RegistryCodecException.class);
    }

    @Test
    void aFailureLeavesTheCodecUsable() {
        RegistryMessage good = new AnnounceRefused("gone");
        byte[] bad = sealed(new byte[] {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 5, 1});
        for (int i = 0; i < 20; i++) {
            assertThatThrownBy(() -> codec.decode(bad)).isInstanceOf(RegistryCodecException.class);
            assertThat(codec.decode(codec.encode(good))).isEqualTo(good);
        }
    }

    @Test
    void threadsShareOneCodec() throws Exception {
        announceSeed("threadsShareOneCodec");
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Future<?>> all = IntStream.range(0, 8)
                    .<Future<?>>mapToObj(n -> threads.submit(() -> {
                        Random own = new Random(seed + n);
                        for (int i = 0; i < 300; i++) {
                            RegistryMessage message = TestMembers.randomMessage(own);
                            assertThat(codec.decode(codec.encode(message))).isEqualTo(message);
                        }
                    }))
                    .toList();
            for (Future<?> each : all) {
                each.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** Makes magic, version, length and checksum right, whatever the rest is. */
    private static byte[] sealed(byte[] bytes) {
        if (bytes.length >= RegistryCodec.HEADER_BYTES) {
            ByteBuffer.wrap(bytes)
                    .putInt(RegistryCodec.MAGIC)
                    .put(RegistryCodec.VERSION)
                    .putInt(6, bytes.length - RegistryCodec.HEADER_BYTES)
                    .putInt(10, RegistryCodec.crc(bytes));
        }
        return bytes;
    }

    private byte[] mutated(byte[] original) {
        int change = random.nextInt(5) - 2;
        byte[] bytes = Arrays.copyOf(original, Math.max(RegistryCodec.HEADER_BYTES, original.length + change));
        for (int i = random.nextInt(4); i > 0 && bytes.length > RegistryCodec.HEADER_BYTES; i--) {
            int at = RegistryCodec.HEADER_BYTES + random.nextInt(bytes.length - RegistryCodec.HEADER_BYTES);
            bytes[at] = (byte) random.nextInt(256);
        }
        return bytes;
    }

    private void announceSeed(String test) {
        System.out.println("RegistryCodecTest." + test + " seed " + seed);
    }
}
