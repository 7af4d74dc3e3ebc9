// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.RdmaTestDevice;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Endpoints: how they open, connect, refuse and close. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class RdmaEndpointTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaTestDevice device;

    @BeforeEach
    void needDevice() {
        device = RdmaTestDevice.require();
    }

    private RdmaEndpoint open() throws Exception {
        return RdmaEndpoint.open(device.address(), EndpointOptions.DEFAULT);
    }

    @Test
    void opensByAddressAndByName() throws Exception {
        try (RdmaEndpoint byAddress = open();
                RdmaEndpoint byName = RdmaEndpoint.openDevice(device.name(), EndpointOptions.DEFAULT)) {
            assertThat(byAddress.deviceName()).isEqualTo(device.name());
            assertThat(byName.deviceName()).isEqualTo(device.name());
            assertThat(byName.address()).isNotNull();
        }
        assertThatThrownBy(() -> RdmaEndpoint.openDevice("nonesuch0", EndpointOptions.DEFAULT))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(device.name());
        assertThatThrownBy(() -> RdmaEndpoint.open(InetAddress.getByName("192.0.2.1"), EndpointOptions.DEFAULT))
                .hasMessageContaining("rdma_bind_addr");
    }

    @Test
    void refusedWhereNobodyListens() throws Exception {
        try (RdmaEndpoint endpoint = open()) {
            assertThatThrownBy(() -> get(endpoint.connect(new InetSocketAddress(device.address(), 1), TIMEOUT)))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(RdmaRefusedException.class)
                    .hasMessageContaining(device.iwarp() ? "ECONNREFUSED (111)" : "REJECTED (reason ")
                    .hasMessageContaining("no listener at that address");
        }
    }

    @Test
    void connectTimesOutWithoutAnAnswer() throws Exception {
        try (RdmaEndpoint endpoint = open()) {
            byte[] other = device.address().getAddress();
            other[3] = (byte) 250;
            InetSocketAddress absent = new InetSocketAddress(InetAddress.getByAddress(other), 1);
            assertThatThrownBy(() -> get(endpoint.connect(absent, Duration.ofSeconds(1))))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(IOException.class)
                    .hasMessageContaining(absent.toString());
        }
    }

    @Test
    void closeFailsAConnectThatIsGoingOn() throws Exception {
        CompletableFuture<RdmaConnection> connecting;
        try (RdmaEndpoint endpoint = open()) {
            byte[] other = device.address().getAddress();
            other[3] = (byte) 250;
            connecting = endpoint.connect(new InetSocketAddress(InetAddress.getByAddress(other), 1), TIMEOUT);
        }
        assertThatThrownBy(() -> get(connecting)).hasMessageContaining("closed");
    }

    @Test
    void refusesAfterClose() throws Exception {
        RdmaEndpoint endpoint = open();
        LocalRegion region = endpoint.allocate(100);
        endpoint.close();
        endpoint.close();
        assertThatThrownBy(() -> endpoint.allocate(1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> endpoint.listen(0, connection -> {})).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> endpoint.connect(new InetSocketAddress(device.address(), 1), TIMEOUT))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> region.getLong(0)).hasMessageContaining("closed");
    }

    @Test
    void acceptorThatThrowsEndsItsConnectionOnly() throws Exception {
        try (RdmaEndpoint server = open();
                RdmaEndpoint client = open();
                RdmaListener listener = server.listen(0, connection -> {
                    throw new IllegalStateException("no");
                })) {
            RdmaConnection connection = get(client.connect(listener.address(), TIMEOUT));
            assertThat(get(connection.ended())).hasMessageContaining("DISCONNECTED");
            connection.close();
        }
    }

    @Test
    void noRoomInTheCompletionQueueIsSaid() throws Exception {
        EndpointOptions small = new EndpointOptions(8, 8, 20, 64, 4, TIMEOUT, false, 1);
        try (RdmaEndpoint server = open();
                RdmaEndpoint client = RdmaEndpoint.open(device.address(), small);
                RdmaListener listener = server.listen(0, connection -> {})) {
            RdmaConnection first = get(client.connect(listener.address(), TIMEOUT));
            assertThatThrownBy(() -> get(client.connect(listener.address(), TIMEOUT)))
                    .hasMessageContaining("maxCompletions=20");
            first.close();
            get(client.connect(listener.address(), TIMEOUT)).close();
        }
    }

    @Test
    void privateDataTravelsBothWaysAndRefusalsHaveReasons() throws Exception {
        CompletableFuture<RdmaConnection> accepted = new CompletableFuture<>();
        byte[] question = new byte[56];
        question[55] = 7;
        byte[] answer = new byte[196];
        answer[195] = 8;
        try (RdmaEndpoint server = open();
                RdmaEndpoint client = open();
                RdmaListener listener = server.listen(
                        0,
                        request -> request.privateData().length >= 56 && request.privateData()[55] == 7
                                ? ConnectAnswer.accept(answer)
                                : ConnectAnswer.refuse("not 7"),
                        accepted::complete)) {
            RdmaConnection connection = get(client.connect(listener.address(), TIMEOUT, question));
            assertThat(connection.peerData()).isEqualTo(answer);
            assertThat(get(accepted).peerData()).isEqualTo(question);
            assertThatThrownBy(() -> get(client.connect(listener.address(), TIMEOUT, new byte[] {7})))
                    .cause()
                    .isInstanceOfSatisfying(
                            RdmaRefusedException.class,
                            refused -> assertThat(refused.reason()).isEqualTo("not 7"));
        }
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(30, TimeUnit.SECONDS);
    }
}
