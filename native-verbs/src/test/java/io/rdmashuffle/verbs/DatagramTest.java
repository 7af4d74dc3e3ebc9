// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Datagrams between queue pairs that know each other's number and port. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class DatagramTest {
    private static final int QUEUE_KEY = 0x11223344;
    private static final int HEADER = ReceiveRequests.ROUTE_HEADER_BYTES;
    private static final byte[] HELLO = "hello".getBytes(StandardCharsets.US_ASCII);

    private final SendRequests chain = new SendRequests(4, 1);
    private final ReceiveRequests receives = new ReceiveRequests(4);
    private final WorkCompletions one = new WorkCompletions(1);

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Context context;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private ProtectionDomain domain;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private PairAttributes attributes;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private CompletionQueue clientQueue;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private CompletionQueue serverQueue;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private QueuePair client;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private QueuePair server;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private AddressHandle toServer;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Memory local;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private Memory remote;

    @BeforeEach
    void create() {
        RdmaTestDevice device = RdmaTestDevice.require();
        device.assumeInfiniBand("datagrams");
        context = device.open();
        attributes = DirectPairs.attributes(context, device);
        domain = context.allocateProtectionDomain();
        clientQueue = context.createCompletionQueue(16, null);
        serverQueue = context.createCompletionQueue(16, null);
        client = pair(clientQueue);
        server = pair(serverQueue);
        client.startDatagrams(attributes, QUEUE_KEY + 1);
        server.startDatagrams(attributes, QUEUE_KEY);
        toServer = domain.createAddressHandle(
                attributes, PairAddress.decode(server.address(attributes).encode()));
        local = Memory.of(domain, 8192);
        remote = Memory.of(domain, 8192);
    }

    private QueuePair pair(CompletionQueue queue) {
        return domain.createQueuePair(QueuePair.Service.DATAGRAMS, Loopback.SIZES, queue, queue, null);
    }

    @AfterEach
    void close() {
        chain.close();
        receives.close();
        one.close();
        if (context != null) { // null if the test was skipped
            context.close();
            local.close();
            remote.close();
        }
    }

    private void receive(QueuePair pair, Memory memory, long id, int length) {
        receives.clear();
        assertThat(pair.post(receives.add(id, memory.at(0), length, memory.localKey())))
                .isEqualTo(1);
    }

    private void sendToServer(long id, int length, int queueKey) {
        chain.clear();
        chain.send(id, local.at(0), length, local.localKey(), true).to(toServer, server.number(), queueKey);
        assertThat(client.post(chain)).isEqualTo(1);
        Loopback.awaitSuccess(clientQueue, id);
    }

    private byte[] payload(Memory memory, int length) {
        byte[] bytes = new byte[length];
        memory.buffer().getBytes(HEADER, bytes, 0, length);
        return bytes;
    }

    @Test
    void arrivesBehindItsRouteHeader() {
        assertThat(server.state()).isEqualTo(QueuePair.State.READY_TO_SEND);
        receive(server, remote, 7, HEADER + 100);
        local.with(HELLO);
        sendToServer(1, HELLO.length, QUEUE_KEY);
        Loopback.await(serverQueue, one);
        assertThat(one.status(0)).isEqualTo(CompletionStatus.SUCCESS);
        assertThat(one.workRequestId(0)).isEqualTo(7);
        assertThat(one.lengthBytes(0)).isEqualTo(HEADER + HELLO.length);
        assertThat(one.sourceQueuePair(0)).isEqualTo(client.number());
        assertThat(one.hasRouteHeader(0) || !context.port(attributes.port()).ethernet())
                .isTrue();
        assertThat(payload(remote, HELLO.length)).isEqualTo(HELLO);
    }

    @Test
    void senderIsAnsweredByWhatItsDatagramTells() {
        receive(server, remote, 7, HEADER + 100);
        sendToServer(1, HELLO.length, QUEUE_KEY);
        Loopback.await(serverQueue, one);
        receive(client, local, 8, HEADER + 100);
        try (AddressHandle back = domain.createAddressHandle(one, 0, remote.at(0), attributes.port())) {
            remote.with(HELLO);
            chain.clear();
            chain.send(2, remote.at(0), HELLO.length, remote.localKey(), true)
                    .to(back, one.sourceQueuePair(0), QUEUE_KEY + 1);
            assertThat(server.post(chain)).isEqualTo(1);
            Loopback.awaitSuccess(serverQueue, 2);
            Loopback.awaitSuccess(clientQueue, 8);
        }
        assertThat(payload(local, HELLO.length)).isEqualTo(HELLO);
    }

    @Test
    void anotherQueueKeyIsDropped() {
        receive(server, remote, 7, HEADER + 100);
        sendToServer(1, 1, QUEUE_KEY ^ 1);
        sendToServer(2, HELLO.length, QUEUE_KEY);
        Loopback.await(serverQueue, one);
        assertThat(one.workRequestId(0)).isEqualTo(7);
        assertThat(one.lengthBytes(0)).as("the second one").isEqualTo(HEADER + HELLO.length);
    }

    @Test
    void asLongAsTheMtuWithImmediate() {
        int mtu = context.port(attributes.port()).activeMtuBytes();
        byte[] content = new byte[mtu];
        for (int i = 0; i < mtu; i++) {
            content[i] = (byte) (i * 31);
        }
        local.with(content);
        receive(server, remote, 7, HEADER + mtu);
        chain.send(1, local.at(0), mtu, local.localKey(), true)
                .withImmediate(0x81020304)
                .to(toServer, server.number(), QUEUE_KEY);
        assertThat(client.post(chain)).isEqualTo(1);
        Loopback.awaitSuccess(clientQueue, 1);
        Loopback.await(serverQueue, one);
        assertThat(one.lengthBytes(0)).isEqualTo(HEADER + mtu);
        assertThat(one.immediate(0)).isEqualTo(0x81020304);
        assertThat(payload(remote, mtu)).isEqualTo(content);
    }
}
