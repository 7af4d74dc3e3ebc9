// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The bytes of work requests, at the offsets that verbs.h gives them; numbers written out. */
@Tag("unit")
@Timeout(60)
class WorkRequestLayoutTest {
    private static final long LOCAL = 0x1111111122222222L;
    private static final long REMOTE = 0x3333333344444444L;

    private final SendRequests chain = new SendRequests(3, 2);
    private final ReceiveRequests receives = new ReceiveRequests(2);

    @AfterEach
    void close() {
        chain.close();
        receives.close();
    }

    private static long longAt(long base, int offset) {
        return RawMemory.getLong(base + offset);
    }

    private static int intAt(long base, int offset) {
        return RawMemory.getInt(base + offset);
    }

    private static void assertPiece(long piece, long address, int length, int key) {
        assertThat(longAt(piece, 0)).isEqualTo(address);
        assertThat(intAt(piece, 8)).isEqualTo(length);
        assertThat(intAt(piece, 12)).isEqualTo(key);
    }

    @Test
    void readThenWriteWithImmediate() {
        chain.read(7, LOCAL, 100, 5, REMOTE, 6, false)
                .andLocal(LOCAL + 200, 300, 8)
                .write(9, LOCAL, 0, 5, REMOTE, 6, true)
                .withImmediate(0x01020304)
                .inline()
                .fenced();
        long first = chain.head();
        assertThat(longAt(first, 0)).isEqualTo(7);
        assertThat(longAt(first, 8)).isEqualTo(first + 128);
        assertPiece(longAt(first, 16), LOCAL, 100, 5);
        assertPiece(longAt(first, 16) + 16, LOCAL + 200, 300, 8);
        assertThat(intAt(first, 24)).isEqualTo(2);
        assertThat(intAt(first, 28)).isEqualTo(4); // IBV_WR_RDMA_READ
        assertThat(intAt(first, 32)).isZero();
        assertThat(longAt(first, 40)).isEqualTo(REMOTE);
        assertThat(intAt(first, 48)).isEqualTo(6);

        long second = first + 128;
        assertThat(longAt(second, 8)).isZero();
        assertThat(longAt(second, 16)).isEqualTo(longAt(first, 16) + 32);
        assertThat(intAt(second, 24)).as("a piece of nothing is no piece").isZero();
        assertThat(intAt(second, 28)).isEqualTo(1); // IBV_WR_RDMA_WRITE_WITH_IMM
        assertThat(intAt(second, 32)).isEqualTo(2 | 8 | 1); // signaled, inline, fence
        assertThat(intAt(second, 36)).isEqualTo(0x04030201);
        assertThat(chain.indexOf(second)).isEqualTo(1);
    }

    @Test
    void sendThenSignaled() {
        chain.send(1, LOCAL, 10, 5, false).signaled();
        assertThat(intAt(chain.head(), 28)).isEqualTo(2); // IBV_WR_SEND
        assertThat(intAt(chain.head(), 32)).isEqualTo(2);
        chain.withImmediate(1);
        assertThat(intAt(chain.head(), 28)).isEqualTo(3); // IBV_WR_SEND_WITH_IMM
    }

    @Test
    void atomics() {
        chain.compareAndSwap(1, LOCAL, 5, REMOTE, 6, 70, 80).fetchAndAdd(2, LOCAL, 5, REMOTE, 6, 90);
        long first = chain.head();
        assertPiece(longAt(first, 16), LOCAL, 8, 5);
        assertThat(intAt(first, 28)).isEqualTo(5);
        assertThat(longAt(first, 40)).isEqualTo(REMOTE);
        assertThat(longAt(first, 48)).isEqualTo(70);
        assertThat(longAt(first, 56)).isEqualTo(80);
        assertThat(intAt(first, 64)).isEqualTo(6);
        assertThat(intAt(first + 128, 28)).isEqualTo(6);
        assertThat(longAt(first + 128, 48)).isEqualTo(90);
    }

    @Test
    void bindingAndInvalidation() {
        try (FakeDevice device = new FakeDevice();
                Context context = device.open()) {
            ProtectionDomain domain = context.allocateProtectionDomain();
            MemoryRegion region = domain.registerMemory(LOCAL, 1000, Set.of());
            MemoryWindow window = domain.allocateMemoryWindow(MemoryWindow.Type.TWO);
            window.rebound(0x12ff);
            assertThat(window.nextRemoteKey()).as("only the last byte counts").isEqualTo(0x1200);
            chain.bindWindow(1, window, 0x1200, region, LOCAL + 100, 200, Set.of(Access.REMOTE_READ))
                    .invalidate(2, 0x1200);
            long first = chain.head();
            assertThat(intAt(first, 24)).isZero();
            assertThat(intAt(first, 28)).isEqualTo(8); // IBV_WR_BIND_MW
            assertThat(longAt(first, 80)).isEqualTo(window.handle());
            assertThat(intAt(first, 88)).isEqualTo(0x1200);
            assertThat(longAt(first, 96)).isEqualTo(region.handle());
            assertThat(longAt(first, 104)).isEqualTo(LOCAL + 100);
            assertThat(longAt(first, 112)).isEqualTo(200);
            assertThat(intAt(first, 120)).isEqualTo(4);
            assertThat(intAt(first + 128, 28)).isEqualTo(7); // IBV_WR_LOCAL_INV
            assertThat(intAt(first + 128, 36)).isEqualTo(0x1200);
        }
    }

    @Test
    void sendThatInvalidates() {
        chain.send(1, LOCAL, 10, 5, true).invalidating(0x12345678);
        assertThat(intAt(chain.head(), 28)).isEqualTo(9); // IBV_WR_SEND_WITH_INV
        assertThat(intAt(chain.head(), 36)).as("not in network order").isEqualTo(0x12345678);
    }

    @Test
    void completionOfAReceiveThatInvalidated() {
        try (WorkCompletions completions = new WorkCompletions(2)) {
            completions.setCount(2);
            RawMemory.putInt(completions.address() + 48 + 24, 0x12345678);
            RawMemory.putInt(completions.address() + 48 + 36, 1 << 3); // IBV_WC_WITH_INV
            assertThat(completions.hasInvalidated(0)).isFalse();
            assertThat(completions.hasInvalidated(1)).isTrue();
            assertThat(completions.hasImmediate(1)).isFalse();
            assertThat(completions.invalidatedKey(1)).isEqualTo(0x12345678);
        }
    }

    @Test
    void adviceNamesItsPartInPiecesOf32Bits() {
        List<String> pieces = new ArrayList<>();
        try (FakeDevice device = new FakeDevice();
                Context context = device.open()) {
            device.fill("ibv_advise_mr", arguments -> {
                pieces.add("advice " + arguments[1] + " flags " + arguments[2]);
                for (int i = 0; i < arguments[4]; i++) {
                    long piece = arguments[3] + i * 16L;
                    pieces.add(longAt(piece, 0) - LOCAL + "+" + intAt(piece, 8));
                }
            });
            ProtectionDomain domain = context.allocateProtectionDomain();
            MemoryRegion region = domain.registerMemory(LOCAL, 3L << 30, Set.of(Access.ON_DEMAND));
            region.advise(MemoryRegion.Advice.PREFETCH_FOR_WRITE, LOCAL + 4096, (2L << 30) + 1, true);
            region.advise(MemoryRegion.Advice.PREFETCH, LOCAL, 1, false);
            assertThat(pieces)
                    .containsExactly(
                            "advice 1 flags 1",
                            "4096+1073741824",
                            "1073745920+1073741824",
                            "2147487744+1",
                            "advice 0 flags 0",
                            "0+1");
            assertThatThrownBy(() -> region.advise(MemoryRegion.Advice.PREFETCH, LOCAL - 1, 1, false))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            device.fail("ibv_advise_mr", Errno.EOPNOTSUPP);
            assertThatThrownBy(() -> region.advise(MemoryRegion.Advice.PREFETCH_PRESENT, LOCAL, 5, true))
                    .hasMessageContaining("ibv_advise_mr(PREFETCH_PRESENT, length=5) of memory region of")
                    .hasMessageContaining("EOPNOTSUPP (95)");
        }
    }

    @Test
    void datagram() {
        try (FakeDevice device = new FakeDevice();
                Context context = device.open();
                WorkCompletions completions = new WorkCompletions(2)) {
            ProtectionDomain domain = context.allocateProtectionDomain();
            completions.setCount(2);
            long second = completions.address() + 48;
            RawMemory.putInt(second + 32, 0xabcdef);
            RawMemory.putInt(second + 36, 1); // IBV_WC_GRH
            assertThat(completions.sourceQueuePair(1)).isEqualTo(0xabcdef);
            assertThat(completions.hasRouteHeader(0)).isFalse();
            assertThat(completions.hasRouteHeader(1)).isTrue();
            List<Long> passed = new ArrayList<>();
            device.fill(
                    "ibv_create_ah_from_wc",
                    arguments -> Arrays.stream(arguments).forEach(passed::add));
            AddressHandle handle = domain.createAddressHandle(completions, 1, REMOTE, 3);
            assertThat(passed).containsExactly(domain.handle(), second, REMOTE, 3L);
            chain.send(1, LOCAL, 10, 5, true).to(handle, 0xabcdef, 0x11223344);
            assertThat(longAt(chain.head(), 40)).isEqualTo(handle.handle());
            assertThat(intAt(chain.head(), 48)).isEqualTo(0xabcdef);
            assertThat(intAt(chain.head(), 52)).isEqualTo(0x11223344);
            assertThat(ReceiveRequests.ROUTE_HEADER_BYTES).isEqualTo(40);
            domain.close();
            assertThat(handle.isClosed()).isTrue();
            assertThat(device.destructions()).containsExactly("ibv_destroy_ah", "ibv_dealloc_pd");
        }
    }

    @Test
    void usedAgainNothingIsLeft() {
        chain.send(1, LOCAL, 10, 5, true).inline().withImmediate(5).send(2, LOCAL, 10, 5, true);
        chain.clear();
        assertThat(chain.head()).isZero();
        chain.read(3, LOCAL, 10, 5, REMOTE, 6, false);
        assertThat(longAt(chain.head(), 8)).isZero();
        assertThat(intAt(chain.head(), 32)).isZero();
        assertThat(intAt(chain.head(), 36)).isZero();
        assertThat(intAt(chain.head(), 24)).isEqualTo(1);
    }

    @Test
    void refusesWhatDoesNotFit() {
        assertThatThrownBy(chain::signaled).hasMessageContaining("empty");
        chain.send(1, LOCAL, 1, 5, true).andLocal(LOCAL, 1, 5);
        assertThatThrownBy(() -> chain.andLocal(LOCAL, 1, 5)).hasMessageContaining("at most 2 pieces");
        chain.send(2, LOCAL, 1, 5, true).send(3, LOCAL, 1, 5, true);
        assertThat(chain.isFull()).isTrue();
        assertThatThrownBy(() -> chain.send(4, LOCAL, 1, 5, true)).hasMessageContaining("at most 3 requests");
    }

    @Test
    void receives() {
        receives.add(0x8000000000000001L, LOCAL, 10, 5).add(2, LOCAL, 0, 5);
        long first = receives.head();
        assertThat(longAt(first, 0)).isEqualTo(0x8000000000000001L);
        assertThat(longAt(first, 8)).isEqualTo(first + 32);
        assertPiece(longAt(first, 16), LOCAL, 10, 5);
        assertThat(intAt(first, 24)).isEqualTo(1);
        assertThat(longAt(first + 32, 8)).isZero();
        assertThat(intAt(first + 32, 24)).isZero();
        assertThat(receives.indexOf(first + 32)).isEqualTo(1);
        assertThatThrownBy(() -> receives.add(3, LOCAL, 1, 5)).hasMessageContaining("at most 2 receives");
        assertThat(VerbsConstants.IBV_WC_RECV).isEqualTo(128);
    }
}
