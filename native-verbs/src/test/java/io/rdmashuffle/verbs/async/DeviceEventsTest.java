// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.verbs.LeakCheck;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What becomes of connections when the device reports trouble; two endpoints share it. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DeviceEventsTest {
    private final ScriptedDevice device = new ScriptedDevice();
    private final AtomicLong completionQueue = new AtomicLong();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint neighbour;

    @BeforeEach
    void open() throws Exception {
        device.fake.answer("ibv_req_notify_cq", arguments -> {
            completionQueue.compareAndSet(0, (Long) arguments[0]);
            return null;
        });
        endpoint = device.open(EndpointOptions.DEFAULT);
        device.accepted(endpoint); // its thread armed its queue before
        neighbour = device.open(EndpointOptions.DEFAULT);
    }

    @AfterEach
    void close() {
        endpoint.close();
        neighbour.close();
        device.close();
    }

    private static Throwable reason(RdmaConnection connection) throws Exception {
        return ConnectedEndpoints.get(connection.ended());
    }

    @Test
    void eventOfAQueuePairEndsItsConnectionOnly() throws Exception {
        RdmaConnection first = device.accepted(neighbour);
        long pair = device.lastPair();
        RdmaConnection second = device.accepted(neighbour);
        RdmaConnection ofTheOther = device.accepted(endpoint);
        device.deviceEvent(VerbsConstants.IBV_EVENT_QP_ACCESS_ERR, pair);
        assertThat(reason(first)).hasMessageContaining("device event: ");
        assertThat(second.ended()).isNotDone();
        assertThat(ofTheOther.ended()).isNotDone();
    }

    @Test
    void failureOfTheDeviceEndsEverythingAtOnce() throws Exception {
        RdmaConnection here = device.accepted(endpoint);
        RdmaConnection there = device.accepted(neighbour);
        LocalRegion region = endpoint.allocate(64);
        // Never completes: a device that has failed flushes nothing.
        CompletableFuture<Void> read = here.read(region.slice(0, 64), new RemoteRegion(0, 64, 1));
        CompletableFuture<RdmaConnection> connecting =
                endpoint.connect(new InetSocketAddress(ScriptedDevice.ADDRESS, 1), Duration.ofSeconds(30));
        ScriptedDevice.next(device.connects);

        device.deviceEvent(VerbsConstants.IBV_EVENT_DEVICE_FATAL, 0);
        assertThatThrownBy(() -> ConnectedEndpoints.get(read)).hasRootCauseMessage("the device failed: fake0");
        assertThatThrownBy(() -> ConnectedEndpoints.get(connecting)).hasMessageContaining("the device failed");
        assertThat(reason(here)).hasMessageContaining("the device failed");
        assertThat(reason(there)).hasMessageContaining("the device failed");
        region.close();
        assertRefuses(endpoint, "the device failed");
    }

    private static void assertRefuses(RdmaEndpoint failed, String why) {
        assertThatThrownBy(() -> failed.allocate(1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(why)
                .hasMessageContaining("close it and open another");
        assertThatThrownBy(() -> failed.listen(0, connection -> {})).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void requestsAreRefusedAfterTheDeviceFailed() throws Exception {
        RdmaListener listener = endpoint.listen(0, connection -> {});
        RdmaConnection connection = device.accepted(endpoint);
        device.deviceEvent(VerbsConstants.IBV_EVENT_DEVICE_FATAL, 0);
        reason(connection);
        device.request(listener.address().getPort(), 1, 1, new byte[0]);
        assertThat(ScriptedDevice.next(device.rejects)).isEmpty();
    }

    @Test
    void lostCompletionQueueEndsItsOwnEndpointOnly() throws Exception {
        RdmaConnection here = device.accepted(endpoint);
        RdmaConnection there = device.accepted(neighbour);
        device.deviceEvent(VerbsConstants.IBV_EVENT_CQ_ERR, completionQueue.get());
        assertThat(reason(here)).hasMessageContaining("completion queue");
        assertRefuses(endpoint, "completion queue");
        assertThat(there.ended()).isNotDone();
        neighbour.allocate(1);
    }

    @Test
    void removalOfTheDeviceIsSeenOnAnIdOfNoConnection() throws Exception {
        RdmaConnection connection = device.accepted(endpoint);
        device.happen(device.firstId(), CmConstants.RDMA_CM_EVENT_DEVICE_REMOVAL);
        assertThat(reason(connection)).hasMessageContaining("DEVICE_REMOVAL");
        assertRefuses(endpoint, "DEVICE_REMOVAL");
    }

    @Test
    void portTroubleIsLeftToRetries() throws Exception {
        RdmaConnection connection = device.accepted(endpoint);
        RdmaConnection other = device.accepted(endpoint);
        device.deviceEvent(VerbsConstants.IBV_EVENT_PORT_ERR, 1);
        device.deviceEvent(VerbsConstants.IBV_EVENT_QP_FATAL, device.lastPair());
        reason(other); // both events have been handled
        assertThat(connection.ended()).isNotDone();
    }
}
