// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.verbs.LeakCheck;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Connections over three progress threads, each with room for two of them. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ProgressThreadsTest {
    private static final RemoteRegion REMOTE = new RemoteRegion(1 << 20, 8, 7);
    private static final int THREADS = 3;
    private static final int CONNECTIONS = 2 * THREADS;

    private final ScriptedDevice device = new ScriptedDevice();
    private final List<RdmaConnection> connections = new ArrayList<>();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private LocalRegion region;

    @BeforeEach
    void open() throws Exception {
        EndpointOptions defaults = EndpointOptions.DEFAULT;
        endpoint = device.open(new EndpointOptions(4, 4, 16, 64, 1, defaults.operationTimeout(), false, THREADS));
        region = endpoint.allocate(8);
        for (int i = 0; i < CONNECTIONS; i++) {
            connections.add(device.accepted(endpoint));
        }
    }

    @AfterEach
    void close() {
        endpoint.close();
        device.close();
    }

    /** Returns the thread that completes a connection's operations. */
    private String threadOf(RdmaConnection connection) throws Exception {
        CompletableFuture<String> thread = connection
                .read(region.slice(0, 8), REMOTE)
                .thenApply(read -> Thread.currentThread().getName());
        device.complete(ScriptedDevice.next(device.posted), VerbsConstants.IBV_WC_SUCCESS);
        return ConnectedEndpoints.get(thread);
    }

    @Test
    void connectionsAreSpreadAndEachHasOneThread() throws Exception {
        List<String> threads = new ArrayList<>();
        for (RdmaConnection connection : connections) {
            threads.add(threadOf(connection));
        }
        for (String thread : threads) {
            assertThat(threads).filteredOn(thread::equals).hasSize(2);
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            assertThat(threadOf(connections.get(i))).isEqualTo(threads.get(i));
        }
    }

    @Test
    void roomIsCountedForEachThread() throws Exception {
        try (RdmaListener listener = endpoint.listen(0, connection -> {})) {
            device.request(listener.address().getPort(), 1, 1, new byte[0]);
            assertThat(ScriptedDevice.next(device.rejects)).asString().isEqualTo("IOException");
        }
        String thread = threadOf(connections.get(3));
        connections.get(3).close();
        assertThat(threadOf(device.accepted(endpoint)))
                .as("the thread with room")
                .isEqualTo(thread);
    }

    @Test
    void eventsReachTheThreadOfTheirConnection() throws Exception {
        RdmaConnection connection = connections.get(CONNECTIONS - 1);
        String thread = threadOf(connection);
        CompletableFuture<String> endedBy =
                connection.ended().thenApply(reason -> Thread.currentThread().getName());
        device.happen(device.lastId(), CmConstants.RDMA_CM_EVENT_DISCONNECTED);
        assertThat(ConnectedEndpoints.get(connection.ended())).hasMessageContaining("DISCONNECTED");
        assertThat(ConnectedEndpoints.get(endedBy)).isEqualTo(thread);
        assertThat(connections.subList(0, CONNECTIONS - 1))
                .noneMatch(other -> other.ended().isDone());
    }

    @Test
    void failureOfTheDeviceEndsTheConnectionsOfAllThreads() throws Exception {
        device.deviceEvent(VerbsConstants.IBV_EVENT_DEVICE_FATAL, 0);
        for (RdmaConnection connection : connections) {
            assertThat(ConnectedEndpoints.get(connection.ended())).hasMessageContaining("the device failed");
        }
        assertThatThrownBy(() -> endpoint.allocate(1)).hasMessageContaining("the device failed");
    }

    @Test
    void eventOfAQueuePairIsFoundOnAnyThread() throws Exception {
        device.deviceEvent(VerbsConstants.IBV_EVENT_QP_FATAL, device.lastPair());
        assertThat(ConnectedEndpoints.get(connections.get(CONNECTIONS - 1).ended()))
                .hasMessageContaining("device event");
    }

    @Test
    void noneOfThemWaitsForAnother() throws Exception {
        for (RdmaConnection connection : connections.subList(0, THREADS)) {
            RdmaConnection other = connections.get(CONNECTIONS - 1);
            CompletableFuture<Boolean> refused = connection
                    .read(region.slice(0, 8), REMOTE)
                    .thenApply(read -> {
                        other.close();
                        assertThatThrownBy(endpoint::close).hasMessageContaining("progress thread of its own");
                        return true;
                    });
            device.complete(ScriptedDevice.next(device.posted), VerbsConstants.IBV_WC_SUCCESS);
            assertThat(ConnectedEndpoints.get(refused)).isTrue();
        }
    }

    /** A peer may have given up by then, and cannot be told. */
    @Test
    void aRequestThatCannotBeRejectedHarmsNobody() throws Exception {
        int port;
        try (RdmaListener listener = endpoint.listen(0, connection -> {})) {
            port = listener.address().getPort();
        }
        CountDownLatch asked = new CountDownLatch(1);
        device.fake.answer("rdma_reject", arguments -> {
            asked.countDown();
            return -1;
        });
        device.request(port, 1, 1, new byte[0]);
        assertThat(asked.await(30, TimeUnit.SECONDS)).isTrue();
        threadOf(connections.get(0));
        endpoint.allocate(8).close();
        assertThat(connections).noneMatch(connection -> connection.ended().isDone());
    }

    @Test
    void closeEndsAllOfThem() throws Exception {
        CompletableFuture<Void> read = connections.get(CONNECTIONS - 1).read(region.slice(0, 8), REMOTE);
        endpoint.close();
        assertThat(read).isCompletedExceptionally();
        for (RdmaConnection connection : connections) {
            assertThat(connection.ended()).isCompleted();
        }
    }
}
