// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.verbs.LeakCheck;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What connections ask for and grant is what the device can do. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DeviceLimitsTest {
    private final ScriptedDevice device = new ScriptedDevice();

    @AfterEach
    void close() {
        device.close();
    }

    @Test
    void atomicsAreRequestedOnlyFromCapableDevices() throws Exception {
        AtomicInteger registered = new AtomicInteger();
        device.fake.answer("ibv_reg_mr", arguments -> {
            registered.set((Integer) arguments[3]);
            return null;
        });
        for (boolean atomics : new boolean[] {true, false}) {
            device.limits.atomics = atomics;
            int expected = VerbsConstants.IBV_ACCESS_REMOTE_READ
                    | VerbsConstants.IBV_ACCESS_REMOTE_WRITE
                    | (atomics ? VerbsConstants.IBV_ACCESS_REMOTE_ATOMIC : 0);
            try (RdmaEndpoint endpoint = device.open(EndpointOptions.DEFAULT)) {
                endpoint.allocate(64);
                assertThat(registered).hasValue(expected | VerbsConstants.IBV_ACCESS_LOCAL_WRITE);
                RdmaConnection connection = device.accepted(endpoint);
                assertThat(device.transitionTo(VerbsConstants.IBV_QPS_INIT).rights())
                        .isEqualTo(expected);
                if (!atomics) {
                    assertThatThrownBy(() -> connection.fetchAndAdd(new RemoteRegion(8, 8, 1), 1))
                            .isInstanceOf(UnsupportedOperationException.class)
                            .hasMessageContaining("fake0 has no atomics");
                }
            }
        }
    }

    /** As iWARP devices. */
    @Test
    void readTakesNoMorePiecesThanTheDeviceReadsInto() throws Exception {
        device.limits.piecesOfRead = 1;
        try (RdmaEndpoint endpoint = device.open(EndpointOptions.DEFAULT.withMaxPieces(4))) {
            LocalRegion region = endpoint.allocate(64);
            RdmaConnection connection = device.accepted(endpoint);
            List<LocalSlice> two = List.of(region.slice(0, 8), region.slice(16, 8));
            RemoteRegion remote = new RemoteRegion(8, 16, 1);
            assertThatThrownBy(() -> connection.read(two, remote))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("at most 1 pieces");
            assertThat(connection.write(two, remote)).isNotCompletedExceptionally();
        }
    }

    @Test
    void progressThreadsHaveVectorsOfTheirOwn() throws Exception {
        List<Integer> vectors = new CopyOnWriteArrayList<>();
        device.fake.answer("ibv_create_cq", arguments -> {
            vectors.add((Integer) arguments[4]);
            return null;
        });
        device.completionVectors(3);
        try (RdmaEndpoint endpoint = device.open(EndpointOptions.DEFAULT.withProgressThreads(3))) {
            assertThat(endpoint).isNotNull();
        }
        assertThat(vectors).containsExactlyInAnyOrder(0, 1, 2);
    }

    @Test
    void serverGrantsWhatBothSidesCanDo() throws Exception {
        device.limits.reads = 4;
        try (RdmaEndpoint endpoint = device.open(EndpointOptions.DEFAULT);
                RdmaListener listener = endpoint.listen(0, connection -> {})) {
            device.request(listener.address().getPort(), 200, 9, new byte[0]);
            assertReads(ScriptedDevice.next(device.accepts), 4, 4);
            device.request(listener.address().getPort(), 2, 3, new byte[0]);
            assertReads(ScriptedDevice.next(device.accepts), 2, 3);
        }
    }

    private void assertReads(ScriptedDevice.Asked asked, int asInitiator, int asTarget) throws Exception {
        assertThat(asked.initiatorDepth()).isEqualTo(asInitiator);
        assertThat(asked.responderResources()).isEqualTo(asTarget);
        assertReads(asInitiator, asTarget);
    }

    private void assertReads(int asInitiator, int asTarget) throws Exception {
        assertThat(device.transitionTo(VerbsConstants.IBV_QPS_RTR).readsAsTarget())
                .isEqualTo(asTarget);
        assertThat(device.transitionTo(VerbsConstants.IBV_QPS_RTS).readsAsInitiator())
                .isEqualTo(asInitiator);
    }

    @Test
    void clientTakesNoMoreThanItsDeviceCanDo() throws Exception {
        device.limits.reads = 4;
        try (RdmaEndpoint endpoint = device.open(EndpointOptions.DEFAULT)) {
            CompletableFuture<RdmaConnection> connecting =
                    endpoint.connect(new InetSocketAddress(ScriptedDevice.ADDRESS, 1), Duration.ofSeconds(30));
            ScriptedDevice.Asked asked = ScriptedDevice.next(device.connects);
            assertThat(asked.initiatorDepth()).isEqualTo(4);
            assertThat(asked.responderResources()).isEqualTo(4);
            device.happen(asked.id(), CmConstants.RDMA_CM_EVENT_CONNECT_RESPONSE, 0, 100, 1, new byte[0]);
            ConnectedEndpoints.get(connecting);
            assertReads(4, 1);
        }
    }
}
