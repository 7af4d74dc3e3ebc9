// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.groups.Tuple.tuple;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.LeakCheck;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Regions over memory that is the caller's: which bytes, which rights, and whose they are afterwards. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class CallerMemoryTest {
    private static final Set<Access> BOTH = Set.of(Access.LOCAL_WRITE, Access.REMOTE_READ);

    private final ScriptedDevice device = new ScriptedDevice();
    private final List<Registered> registered = new CopyOnWriteArrayList<>();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    private record Registered(long address, long length, int access) {}

    @BeforeEach
    void open() throws Exception {
        endpoint = device.open(EndpointOptions.DEFAULT);
        device.fake.answer("ibv_reg_mr", arguments -> {
            registered.add(new Registered((Long) arguments[1], (Long) arguments[2], (Integer) arguments[3]));
            return null;
        });
    }

    @AfterEach
    void close() {
        endpoint.close();
        device.close();
    }

    private static ByteBuffer buffer(int length) {
        return ByteBuffer.allocateDirect(length);
    }

    @Test
    void partOfABufferFromPositionToLimitIsRegistered() {
        ByteBuffer buffer = buffer(100).position(10).limit(90);
        ByteBuffer slice = buffer.slice().position(5);
        try (LocalRegion whole = endpoint.register(buffer, BOTH);
                LocalRegion part = endpoint.register(slice)) {
            assertThat(registered)
                    .extracting(Registered::length, each -> each.address() - RawMemory.addressOf(buffer))
                    .containsExactly(tuple(80L, 10L), tuple(75L, 15L));
            whole.put(3, new byte[] {7});
            assertThat(buffer.get(13)).isEqualTo((byte) 7);
            buffer.put(20, (byte) 8);
            assertThat(part.get(5, 1)).containsExactly(8);
            assertThat(whole.lengthBytes()).isEqualTo(80);
            assertThatThrownBy(() -> whole.put(80, new byte[1])).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> whole.getLong(73)).isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Test
    void bufferOutlivesItsRegionAndTheRegionRefusesUse() {
        ByteBuffer buffer = buffer(16);
        LocalRegion region = endpoint.register(buffer);
        region.putLong(0, 5);
        region.close();
        region.close();
        assertThat(device.fake.destructions()).containsOnlyOnce("ibv_dereg_mr");
        assertThat(buffer.get(0)).isEqualTo((byte) 5);
        assertThatThrownBy(() -> region.get(0, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("region of 16 bytes is closed");
        assertThatThrownBy(() -> region.putLong(0, 1)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void endpointClosesWhatIsLeft() {
        ByteBuffer buffer = buffer(16);
        LocalRegion region = endpoint.register(buffer);
        endpoint.close();
        assertThat(device.fake.destructions()).contains("ibv_dereg_mr");
        buffer.put(0, (byte) 1);
        assertThatThrownBy(() -> region.get(0, 1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> endpoint.register(buffer)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void operationInFlightKeepsTheRegistration() throws Exception {
        LocalRegion region = endpoint.register(buffer(16));
        CompletableFuture<Void> read = device.accepted(endpoint).read(region.slice(0, 16), new RemoteRegion(0, 16, 1));
        assertThatThrownBy(region::close).hasMessageContaining("in use by 1 operations");
        assertThat(device.fake.destructions()).doesNotContain("ibv_dereg_mr");
        device.complete(ScriptedDevice.next(device.posted), VerbsConstants.IBV_WC_SUCCESS);
        ConnectedEndpoints.get(read);
        region.close();
    }

    @Test
    void mistakesAreRefusedBeforeAnythingIsRegistered() {
        assertThatThrownBy(() -> endpoint.register(ByteBuffer.allocate(8)))
                .hasMessageContaining("must be a direct one");
        assertThatThrownBy(() -> endpoint.register(buffer(8).position(8))).hasMessageContaining("has nothing between");
        assertThatThrownBy(() -> endpoint.register(buffer(8).asReadOnlyBuffer(), BOTH))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("read-only buffer");
        assertThatThrownBy(() -> endpoint.register(4096, 0, BOTH)).hasMessageContaining("must be positive");
        assertThat(registered).isEmpty();
        device.fake.fail("ibv_reg_mr", Errno.EFAULT);
        assertThatThrownBy(() -> endpoint.register(buffer(8))).hasMessageContaining("EFAULT");
    }

    /** A store into a read-only mapping would end the process. */
    @Test
    void readOnlyBufferIsForPeersToRead() throws Exception {
        try (LocalRegion region = endpoint.register(buffer(16).asReadOnlyBuffer())) {
            assertThat(registered)
                    .extracting(Registered::access)
                    .containsExactly(VerbsConstants.IBV_ACCESS_REMOTE_READ);
            assertThat(region.getLong(0)).isZero();
            assertThatThrownBy(() -> region.putLong(0, 1)).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> region.put(0, new byte[1])).hasMessageContaining("read-only buffer");
            RdmaConnection connection = device.accepted(endpoint);
            assertThatThrownBy(() -> connection.read(region.slice(0, 8), new RemoteRegion(0, 8, 1)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("needs LOCAL_WRITE");
            assertThatThrownBy(() -> connection.receive(region.slice(0, 8))).hasMessageContaining("needs LOCAL_WRITE");
        }
    }

    @Test
    void memoryByAddressStaysTheCallers() {
        try (NativeBuffer memory = new NativeBuffer(64)) {
            LocalRegion region = endpoint.register(memory.address(8), 48, BOTH);
            assertThat(registered).extracting(Registered::address).containsExactly(memory.address(8));
            region.putLong(40, 9);
            assertThatThrownBy(() -> region.putLong(41, 9)).isInstanceOf(IndexOutOfBoundsException.class);
            region.close();
            assertThat(memory.getLong(48)).isEqualTo(9);
        }
    }
}
