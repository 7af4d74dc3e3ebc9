// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.RdmaTestDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Many connections with a few receives between them, on a device. */
@Tag("rdma")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class SharedReceivesDeviceTest {
    private static final int COUNT = 8;
    private static final int MESSAGE_BYTES = 32 << 10;

    /** Empty where the test was skipped. */
    private final List<RdmaEndpoint> opened = new ArrayList<>();

    private final BlockingQueue<Byte> marks = new LinkedBlockingQueue<>();
    private final BlockingQueue<RdmaConnection> accepted = new LinkedBlockingQueue<>();

    /** Both ends of one connection. */
    private record Pair(RdmaConnection client, RdmaConnection server) {}

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaTestDevice device;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint server;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint client;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaListener listener;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private LocalRegion region;

    @BeforeEach
    void open() throws Exception {
        device = RdmaTestDevice.require();
        device.assume(device.limits().maxSharedReceives() > 0, "shared receive queues");
        server = RdmaEndpoint.open(device.address(), EndpointOptions.DEFAULT.withProgressThreads(2));
        opened.add(server);
        client = RdmaEndpoint.open(device.address(), EndpointOptions.DEFAULT);
        opened.add(client);
        SharedReceives receives = server.shareReceives(COUNT, MESSAGE_BYTES, this::check);
        listener = server.listen(0, request -> ConnectAnswer.accept(), receives, accepted::add);
        region = client.allocate(MESSAGE_BYTES);
    }

    @AfterEach
    void close() {
        opened.forEach(RdmaEndpoint::close);
    }

    /** Keeps the first byte of a message, which all others must equal. */
    private void check(RdmaConnection from, LocalSlice slice, ReceivedMessage message) {
        byte[] bytes = slice.region().get(slice.offset(), slice.lengthBytes());
        for (byte each : bytes) {
            if (each != bytes[0]) {
                throw new IllegalStateException("a message that is not as it was sent");
            }
        }
        marks.add(bytes[0]);
    }

    /** Returns when the server has the connection, too: the client may have it long before. */
    private Pair connect() throws Exception {
        RdmaConnection connection =
                ConnectedEndpoints.get(client.connect(listener.address(), ConnectedEndpoints.TIMEOUT));
        RdmaConnection other = accepted.poll(30, TimeUnit.SECONDS);
        assertThat(other).isNotNull();
        return new Pair(connection, other);
    }

    /** Sends a message of one value, and waits until the handler has it: on iWARP it needs a receive. */
    private void exchange(RdmaConnection connection, byte value, int lengthBytes) throws Exception {
        byte[] bytes = new byte[lengthBytes];
        Arrays.fill(bytes, value);
        region.put(0, bytes);
        ConnectedEndpoints.get(connection.send(region.slice(0, lengthBytes)));
        assertThat(marks.poll(30, TimeUnit.SECONDS)).isEqualTo(value);
    }

    @Test
    void twentyConnectionsTakeFromEightReceives() throws Exception {
        List<RdmaConnection> connections = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            connections.add(connect().client());
        }
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < connections.size(); i++) {
                exchange(connections.get(i), (byte) (round * 20 + i), 1 + i * 1500);
            }
        }
    }

    @Test
    void sendersWaitForAReceive() throws Exception {
        device.assumeInfiniBand("senders that wait for a receive");
        RdmaConnection connection = connect().client();
        List<CompletableFuture<Void>> sent = new ArrayList<>();
        for (int i = 0; i < 4 * COUNT; i++) {
            sent.add(connection.send(region.slice(0, MESSAGE_BYTES)));
        }
        for (CompletableFuture<Void> each : sent) {
            ConnectedEndpoints.get(each);
        }
        for (int i = 0; i < 4 * COUNT; i++) {
            assertThat(marks.poll(30, TimeUnit.SECONDS)).isZero();
        }
    }

    /** If each connection that ends inside a message lost a receive, none would be left afterwards. */
    @Test
    void receivesOutliveConnectionsThatEndInsideAMessage() throws Exception {
        RdmaConnection healthy = connect().client();
        for (int round = 0; round < 2 * COUNT; round++) {
            Pair ending = connect();
            for (int i = 0; i < 4; i++) {
                CompletableFuture<Void> unused = ending.client().send(region.slice(0, MESSAGE_BYTES));
            }
            ending.client().close();
            ConnectedEndpoints.get(ending.server().ended());
        }
        marks.clear();
        for (int i = 1; i <= 2 * COUNT; i++) {
            exchange(healthy, (byte) i, MESSAGE_BYTES);
        }
    }
}
