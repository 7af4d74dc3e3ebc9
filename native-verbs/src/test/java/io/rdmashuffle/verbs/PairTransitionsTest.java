// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.RawMemory;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What ibv_modify_qp gets where no connection manager says it; offsets and masks of verbs.h written out. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PairTransitionsTest {
    private static final int ATTRIBUTES = 144;
    private static final PortAttributes ETHERNET = new PortAttributes(2, true, 2048, 1L << 30, 100, 0, true);
    private static final PortAttributes INFINIBAND = new PortAttributes(2, true, 4096, 1L << 30, 100, 0x1234, false);

    private final FakeDevice device = new FakeDevice();
    private final List<ByteBuffer> modified = new ArrayList<>();
    private final List<Integer> masks = new ArrayList<>();
    private final Context context = device.open();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private QueuePair pair;

    @BeforeEach
    void create() {
        device.fill("ibv_modify_qp", arguments -> {
            byte[] copy = new byte[ATTRIBUTES];
            RawMemory.getBytes(arguments[1], copy, 0, copy.length);
            modified.add(ByteBuffer.wrap(copy).order(ByteOrder.LITTLE_ENDIAN));
            masks.add((int) arguments[2]);
        });
        CompletionQueue queue = context.createCompletionQueue(1, null);
        pair = context.allocateProtectionDomain().createQueuePair(new QueueSizes(4, 4, 1, 0), queue, queue, null);
    }

    @AfterEach
    void close() {
        context.close();
        assertThat(device.violations()).isEmpty();
        device.close();
    }

    private static InetAddress ip(String text) {
        try {
            return InetAddress.getByName(text);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("a literal address", e);
        }
    }

    private static GidEntry gid(int port) {
        return new GidEntry(port, 3, GidEntry.Type.ROCE_V2, ip("10.77.0.1"));
    }

    private static PairAddress peer(@Nullable String gid) {
        return new PairAddress(0xabcdef, 0x010203, 0xfedc, gid == null ? null : ip(gid), 1024, 5);
    }

    private ByteBuffer last() {
        return modified.get(modified.size() - 1);
    }

    private int lastMask() {
        return masks.get(masks.size() - 1);
    }

    private String dump(int offset, int length) {
        return HexFormat.of().formatHex(last().array(), offset, offset + length);
    }

    @Test
    void initializeNamesPortPartitionAndRights() {
        pair.initialize(PairAttributes.on(ETHERNET, gid(2)).withPartitionKeyIndex(7), Set.of(Access.REMOTE_READ));
        assertThat(lastMask()).isEqualTo(1 | 1 << 3 | 1 << 4 | 1 << 5);
        assertThat(last().getInt(0)).isEqualTo(1); // IBV_QPS_INIT
        assertThat(last().getInt(32)).isEqualTo(4);
        assertThat(last().getShort(120)).isEqualTo((short) 7);
        assertThat(last().get(129)).isEqualTo((byte) 2);
    }

    @Test
    void readyToReceiveNamesThePeerAndTheWayToIt() {
        PairAttributes own = PairAttributes.on(ETHERNET, gid(2))
                .withPath(2048, 5, 96, 9)
                .withRetries(13, 6, 3, 14)
                .withDepths(8, 4);
        pair.readyToReceive(own, peer("10.77.0.2"));
        assertThat(lastMask()).isEqualTo(1 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 15 | 1 << 17 | 1 << 20);
        assertThat(last().getInt(0)).isEqualTo(2); // IBV_QPS_RTR
        assertThat(last().getInt(8)).as("the smaller MTU").isEqualTo(3);
        assertThat(last().getInt(20)).isEqualTo(0x010203);
        assertThat(last().getInt(28)).isEqualTo(0xabcdef);
        assertThat(dump(56, 16)).isEqualTo("00000000000000000000ffff0a4d0002");
        assertThat(dump(76, 3)).as("GID index, hop limit, traffic class").isEqualTo("030960");
        assertThat(last().getShort(80)).isEqualTo((short) 0xfedc);
        assertThat(last().get(82)).isEqualTo((byte) 5);
        assertThat(last().get(85)).as("is_global").isEqualTo((byte) 1);
        assertThat(last().get(86)).isEqualTo((byte) 2);
        assertThat(last().get(127)).isEqualTo((byte) 4);
        assertThat(last().get(128)).isEqualTo((byte) 14);
        pair.readyToReceive(own.withPath(512, 0, 0, 1), peer("10.77.0.2"));
        assertThat(last().getInt(8)).isEqualTo(2);
    }

    @Test
    void withoutIdentifiersLidsAreTheWay() {
        PairAttributes own = PairAttributes.on(INFINIBAND, null);
        assertThat(pair.address(own).lid()).isEqualTo(0x1234);
        assertThat(pair.address(own).gid()).isNull();
        pair.readyToReceive(own, peer("fe80::1"));
        assertThat(last().get(85)).isZero();
        assertThat(last().getShort(80)).isEqualTo((short) 0xfedc);
        pair.readyToReceive(PairAttributes.on(INFINIBAND, gid(2)), peer(null));
        assertThat(last().get(85)).isZero();
    }

    @Test
    void readyToSendNamesRepetitionsAndDepth() {
        PairAttributes own = PairAttributes.on(ETHERNET, gid(2))
                .withFirstSequence(0xfffffe)
                .withRetries(13, 6, 3, 14)
                .withDepths(8, 4);
        pair.readyToSend(own, peer("10.77.0.2"));
        assertThat(lastMask()).isEqualTo(1 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 1 << 16);
        assertThat(last().getInt(0)).isEqualTo(3); // IBV_QPS_RTS
        assertThat(last().getInt(24)).isEqualTo(0xfffffe);
        assertThat(last().get(126)).as("as many as the peer serves").isEqualTo((byte) 5);
        assertThat(dump(130, 3)).isEqualTo("0d0603");
        pair.readyToSend(own.withDepths(2, 4), peer("10.77.0.2"));
        assertThat(last().get(126)).isEqualTo((byte) 2);
    }

    @Test
    void addressIsWhatThePeerNeeds() {
        PairAttributes own =
                PairAttributes.on(ETHERNET, gid(2)).withFirstSequence(9).withDepths(8, 4);
        assertThat(pair.address(own)).isEqualTo(new PairAddress(pair.number(), 9, 0, ip("10.77.0.1"), 2048, 4));
    }

    @Test
    void datagramsNeedPortKeyAndSequenceOnly() {
        pair.startDatagrams(PairAttributes.on(ETHERNET, gid(2)).withFirstSequence(9), 0x81020304);
        assertThat(masks).containsExactly(1 | 1 << 4 | 1 << 5 | 1 << 6, 1, 1 | 1 << 16);
        assertThat(modified.get(0).getInt(0)).isEqualTo(1);
        assertThat(modified.get(0).getInt(16)).isEqualTo(0x81020304);
        assertThat(modified.get(0).get(129)).isEqualTo((byte) 2);
        assertThat(modified.get(1).getInt(0)).isEqualTo(2);
        assertThat(modified.get(2).getInt(0)).isEqualTo(3);
        assertThat(modified.get(2).getInt(24)).isEqualTo(9);
    }

    @Test
    void addressHandlesNameTheWayAlone() {
        List<String> vectors = new ArrayList<>();
        device.fill("ibv_create_ah", arguments -> {
            byte[] vector = new byte[32];
            RawMemory.getBytes(arguments[1], vector, 0, vector.length);
            vectors.add(HexFormat.of().formatHex(vector));
        });
        pair.domain()
                .createAddressHandle(PairAttributes.on(ETHERNET, gid(2)).withPath(1024, 5, 96, 9), peer("10.77.0.2"));
        assertThat(vectors)
                .containsExactly("00000000000000000000ffff0a4d0002" + "00000000" + "03" + "09" + "60" + "00" + "dcfe"
                        + "05" + "00" + "00" + "01" + "02" + "00");
        device.fail("ibv_create_ah", Errno.ETIMEDOUT);
        assertThatThrownBy(
                        () -> pair.domain().createAddressHandle(PairAttributes.on(ETHERNET, gid(2)), peer("10.77.0.2")))
                .hasMessageContaining("ibv_create_ah(PairAddress[")
                .hasMessageContaining("ETIMEDOUT (110)");
    }

    @Test
    void servicesAreThoseOfTheHeader() {
        List<Integer> types = new ArrayList<>();
        device.fill("ibv_create_qp", arguments -> types.add(RawMemory.getInt(arguments[1] + 52)));
        CompletionQueue queue = context.createCompletionQueue(1, null);
        QueueSizes sizes = new QueueSizes(4, 4, 1, 0);
        pair.domain().createQueuePair(sizes, queue, queue, null);
        pair.domain().createQueuePair(QueuePair.Service.DATAGRAMS, sizes, queue, queue, null);
        assertThat(types).containsExactly(2, 4);
    }

    @Test
    void attributesOutOfRangeAreRefused() {
        PairAttributes own = PairAttributes.on(ETHERNET, gid(2));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PairAttributes.on(ETHERNET, null))
                .withMessageContaining("port 2 is Ethernet");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PairAttributes.on(ETHERNET, gid(1)))
                .withMessageContaining("of port 1, not of 2");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> own.withRetries(32, 7, 7, 12))
                .withMessage("acknowledgement timeout 32: must be from 0 to 31");
        assertThatIllegalArgumentException().isThrownBy(() -> own.withRetries(14, 8, 7, 12));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withRetries(14, 7, -1, 12));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withRetries(14, 7, 7, 32));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withDepths(256, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withDepths(1, 256));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withFirstSequence(1 << 24));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withPath(1500, 0, 0, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withPath(1024, 16, 0, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withPath(1024, 0, 256, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withPath(1024, 0, 0, 256));
        assertThatIllegalArgumentException().isThrownBy(() -> own.withPartitionKeyIndex(-1));
    }

    @Test
    void failuresNameThePeer() {
        device.fail("ibv_modify_qp", Errno.EINVAL);
        assertThatThrownBy(() -> pair.readyToReceive(PairAttributes.on(ETHERNET, gid(2)), peer("10.77.0.2")))
                .hasMessageContaining("ibv_modify_qp(state=2, PairAddress[number=11259375")
                .hasMessageContaining("10.77.0.2")
                .hasMessageContaining("EINVAL (22)");
    }
}
