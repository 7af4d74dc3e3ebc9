// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.verbs.PairAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the programs' messages and output. */
@Tag("unit")
class ToolsMessagesTest {
    private static final String SAID_BY_C = "0000:000011:1dc310:00000000000000000000ffff0a4d0001\0";

    private static byte[] bytes(String said) {
        return said.getBytes(StandardCharsets.US_ASCII);
    }

    @Test
    void addressesAreThoseOfIbvRcPingpong() throws IOException {
        PairAddress address = WireAddress.decode(bytes(SAID_BY_C), 1024);
        assertThat(address).isEqualTo(new PairAddress(0x11, 0x1dc310, 0, InetAddress.getByName("10.77.0.1"), 1024, 1));
        assertThat(WireAddress.encode(address)).isEqualTo(bytes(SAID_BY_C)).hasSize(WireAddress.BYTES);
        assertThat(WireAddress.DONE).isEqualTo(new byte[] {'d', 'o', 'n', 'e', 0});
    }

    @Test
    void aPortThatRoutesByLidsHasNoGid() throws IOException {
        String said = "beef:abcdef:ffffff:" + "0".repeat(32) + "\0";
        PairAddress address = WireAddress.decode(bytes(said), 4096);
        assertThat(address).isEqualTo(new PairAddress(0xabcdef, 0xffffff, 0xbeef, null, 4096, 1));
        assertThat(WireAddress.encode(address)).isEqualTo(bytes(said));
    }

    @Test
    void malformedAddressIsRefused() {
        for (String said : List.of("", "GET / HTTP/1.1\r\n", SAID_BY_C.substring(1), SAID_BY_C.replace('\0', '0'))) {
            assertThatThrownBy(() -> WireAddress.decode(bytes(said), 1024))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("no address of ibv_rc_pingpong");
        }
    }

    @Test
    void plansComeThroughWithZerosBehind() {
        for (Plan.Work work : Plan.Work.values()) {
            Plan plan = new Plan(work, 65_536, 16, 5000);
            assertThat(Plan.decode(plan.encode())).isEqualTo(plan);
            assertThat(Plan.decode(Arrays.copyOf(plan.encode(), 56))).isEqualTo(plan);
        }
    }

    @Test
    void plansOfAnythingElseAreRefused() {
        byte[] plan = new Plan(Plan.Work.READ, 65_536, 16, 5000).encode();
        assertThatThrownBy(() -> Plan.decode(new byte[56])).hasMessageContaining("not a request of this version");
        assertThatThrownBy(() -> Plan.decode(Arrays.copyOf(plan, 19))).hasMessageContaining("not a request of this");
        int[][] wrong = {{4, 5}, {4, 0}, {8, 0}, {8, -1}, {12, 0}, {12, 4097}, {16, 0}, {16, -1}};
        for (int[] change : wrong) {
            byte[] changed = plan.clone();
            ByteBuffer.wrap(changed).putInt(change[0], change[1]);
            assertThatThrownBy(() -> Plan.decode(changed))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("there is no such work");
        }
        byte[] large = new Plan(Plan.Work.SEND, 1 << 26, 16, 1).encode();
        assertThatThrownBy(() -> Plan.decode(large)).hasMessageContaining("at most 1073741824 bytes of memory");
    }

    @Test
    void memoryOfTheServerComesThrough() throws IOException {
        Target target = new Target(0x7f12_a800_0b80L, 0x8000_5a1d);
        assertThat(Target.decode(Arrays.copyOf(target.encode(), 196))).isEqualTo(target);
        assertThatThrownBy(() -> Target.decode(new byte[196])).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> Target.decode(new byte[0])).isInstanceOf(IOException.class);
    }

    @Test
    void reportsComeThrough() {
        try (NativeBuffer memory = new NativeBuffer(Report.BYTES)) {
            for (Report report : List.of(new Report(true, 4000, 123_456_789_012L), new Report(false, 17, 0))) {
                report.write(memory.address());
                assertThat(Report.read(memory.address())).isEqualTo(report);
            }
        }
    }

    @Test
    void payloadOfAnotherMessageOrAWrongByteIsNoticed() throws IOException {
        int length = 1000;
        Payload payload = new Payload(length);
        try (NativeBuffer memory = new NativeBuffer(length)) {
            for (int message = 0; message < 600; message++) {
                payload.put(message, memory.address());
                payload.check(message, memory.address());
                int next = message + 1;
                assertThatThrownBy(() -> payload.check(next, memory.address()))
                        .isInstanceOf(IOException.class)
                        .hasMessageContaining("byte 0 of 1000");
            }
            memory.putByte(999, (byte) (memory.getByte(999) + 1));
            assertThatThrownBy(() -> payload.check(599, memory.address()))
                    .hasMessageContaining("message 599 came back damaged: byte 999 of 1000 is");
        }
    }

    @Test
    void figuresHaveUnits() {
        long[] nanos = new long[100];
        for (int i = 0; i < nanos.length; i++) {
            nanos[i] = (100 - i) * 2_000L;
        }
        assertThat(Figures.halfRoundTrips(nanos))
                .isEqualTo("half round trip: median 51.0 us, 99 % 100.0 us, least 1.0 us, most 100.0 us");
        assertThat(Figures.halfRoundTrips(new long[] {3_000}))
                .isEqualTo("half round trip: median 1.5 us, 99 % 1.5 us, least 1.5 us, most 1.5 us");
        assertThat(Figures.bandwidth(1 << 20, 200, 2_000_000_000L))
                .isEqualTo("100.0 MiB/s, 100 operations/s (200 operations in 2.000 s)");
    }
}
