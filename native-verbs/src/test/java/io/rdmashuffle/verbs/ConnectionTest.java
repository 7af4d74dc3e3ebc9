// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.NativeException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The steps of rdma_cm, one by one. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class ConnectionTest {
    private static final byte[] HELLO = "hello".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] WELCOME = "welcome".getBytes(StandardCharsets.US_ASCII);

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaTestDevice device;

    @BeforeEach
    void needDevice() {
        device = RdmaTestDevice.require();
    }

    private static void resolve(EventChannel events, CmId client, InetSocketAddress address) {
        client.resolveAddress(null, address, Loopback.TIMEOUT);
        CmEvents.expect(events, CmEvent.Type.ADDRESS_RESOLVED);
        client.resolveRoute(Loopback.TIMEOUT);
        CmEvents.expect(events, CmEvent.Type.ROUTE_RESOLVED);
    }

    private void assertState(QueuePair pair, QueuePair.State expected) {
        Loopback.assertState(device, pair, expected);
    }

    private static void closeInOrder(NativeResource... resources) {
        for (NativeResource resource : resources) {
            resource.close();
        }
    }

    /** Requirement 1, in its order; one step of it per line. On iWARP the connection manager makes some of them. */
    @Test
    void wholeFlowWithTeardownInOrder() {
        EventChannel serverEvents = EventChannel.open(device.library());
        CmId listener = serverEvents.createId();
        listener.bind(new InetSocketAddress(device.address(), 0));
        listener.listen(1);
        InetSocketAddress address = Loopback.address(listener);
        assertThat(address.getPort()).isPositive();

        EventChannel clientEvents = EventChannel.open(device.library());
        CmId client = clientEvents.createId();
        resolve(clientEvents, client, address);
        Context clientContext = Loopback.context(client);
        assertThat(clientContext.deviceName()).isEqualTo(device.name());
        boolean iwarp = clientContext.transport() == Transport.IWARP;
        ProtectionDomain clientDomain = clientContext.allocateProtectionDomain();
        CompletionQueue clientQueue = clientContext.createCompletionQueue(8, null);
        QueuePair clientPair = clientDomain.createQueuePair(Loopback.SIZES, clientQueue, clientQueue, null);
        assertState(clientPair, QueuePair.State.RESET);
        clientPair.initialize(client, Set.of());
        assertState(clientPair, QueuePair.State.INITIALIZED);
        client.typeOfService(96);
        client.connect(new ConnectionParameters(clientPair, 2, 2, 5, 6, HELLO));

        CmEvent request = CmEvents.expect(serverEvents, CmEvent.Type.CONNECT_REQUEST);
        assertThat(request.privateData()).startsWith(HELLO);
        assertThat(request.initiatorDepth()).isEqualTo(2);
        CmId server = request.id();
        Context serverContext = Loopback.context(server);
        ProtectionDomain serverDomain = serverContext.allocateProtectionDomain();
        CompletionQueue serverQueue = serverContext.createCompletionQueue(8, null);
        QueuePair serverPair = serverDomain.createQueuePair(Loopback.SIZES, serverQueue, serverQueue, null);
        serverPair.initialize(server, Set.of(Access.REMOTE_READ));
        serverPair.readyToReceive(server, QueuePairTuning.DEFAULT);
        assertState(serverPair, iwarp ? QueuePair.State.INITIALIZED : QueuePair.State.READY_TO_RECEIVE);
        serverPair.readyToSend(server, new QueuePairTuning(14, 5, 1024, 0, 96));
        server.accept(new ConnectionParameters(serverPair, 2, 2, 5, 6, WELCOME));

        CmEvent answer =
                CmEvents.expect(clientEvents, iwarp ? CmEvent.Type.ESTABLISHED : CmEvent.Type.CONNECT_RESPONSE);
        assertThat(answer.privateData()).startsWith(WELCOME);
        clientPair.readyToReceive(client, new QueuePairTuning(14, 5, 1024, 0, 96));
        clientPair.readyToSend(client, QueuePairTuning.DEFAULT);
        assertState(clientPair, QueuePair.State.READY_TO_SEND);
        client.establish();
        assertThat(CmEvents.expect(serverEvents, CmEvent.Type.ESTABLISHED).id()).isSameAs(server);

        assertThat(client.disconnect()).isTrue();
        CmEvents.expect(serverEvents, CmEvent.Type.DISCONNECTED);
        assertThat(server.disconnect()).isTrue(); // the client waits for it
        CmEvents.expect(clientEvents, CmEvent.Type.DISCONNECTED);
        closeInOrder(clientPair, clientQueue, clientDomain, clientContext, client, clientEvents);
        closeInOrder(serverPair, serverQueue, serverDomain, serverContext, server, listener, serverEvents);
    }

    @Test
    void refusesWhereNobodyListens() {
        try (EventChannel events = EventChannel.open(device.library());
                CmId client = events.createId()) {
            resolve(events, client, new InetSocketAddress(device.address(), 1));
            try (Context context = Loopback.context(client)) {
                CompletionQueue queue = context.createCompletionQueue(8, null);
                QueuePair pair = context.allocateProtectionDomain().createQueuePair(Loopback.SIZES, queue, queue, null);
                pair.initialize(client, Set.of());
                if (context.transport() == Transport.IWARP) {
                    assertThatThrownBy(() -> client.connect(Loopback.parameters(pair, 6)))
                            .isInstanceOf(NativeException.class)
                            .hasMessageContaining("rdma_connect(" + device.address() + ":1): ECONNREFUSED (111)");
                } else {
                    client.connect(Loopback.parameters(pair, 6));
                    assertThat(CmEvents.expect(events, CmEvent.Type.REJECTED).describe())
                            .contains("REJECTED (reason ")
                            .contains("no listener at that address");
                }
            }
        }
    }

    @Test
    void passesTheReasonOfARefusal() {
        try (EventChannel events = EventChannel.open(device.library())) {
            CmId listener = events.createId();
            listener.bind(new InetSocketAddress(device.address(), 0));
            listener.listen(1);
            CmId client = events.createId();
            resolve(events, client, Loopback.address(listener));
            try (Context context = Loopback.context(client)) {
                CompletionQueue queue = context.createCompletionQueue(8, null);
                QueuePair pair = context.allocateProtectionDomain().createQueuePair(Loopback.SIZES, queue, queue, null);
                pair.initialize(client, Set.of());
                client.connect(Loopback.parameters(pair, 6));
                CmEvents.expect(events, CmEvent.Type.CONNECT_REQUEST).id().reject(HELLO);
                CmEvent rejected = CmEvents.expect(events, CmEvent.Type.REJECTED);
                assertThat(rejected.id()).isSameAs(client);
                assertThat(Arrays.copyOf(rejected.privateData(), HELLO.length)).isEqualTo(HELLO);
            }
        }
    }

    @Test
    void addressWithoutADeviceIsReported() throws Exception {
        try (EventChannel events = EventChannel.open(device.library());
                CmId id = events.createId()) {
            assertThatThrownBy(() -> id.bind(new InetSocketAddress(InetAddress.getByName("192.0.2.1"), 0)))
                    .isInstanceOf(NativeException.class)
                    .hasMessageContaining("rdma_bind_addr(/192.0.2.1:0)")
                    .hasMessageContaining("use an address of an RDMA device's own port");
            assertThat(id.context()).isNull();
            assertThat(id.localAddress()).isNull();
        }
    }

    @Test
    void eventsOfAClosedIdAreDropped() {
        try (EventChannel events = EventChannel.open(device.library())) {
            CmId client = events.createId();
            client.resolveAddress(null, new InetSocketAddress(device.address(), 1), Loopback.TIMEOUT);
            client.close();
            assertThat(events.nextEvent()).isNull();
        }
    }
}
