// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.LeakCheck;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of differences of iWARP devices. */
@Timeout(60)
@ExtendWith(LeakCheck.class)
class IwarpTest {
    private static final InetSocketAddress REMOTE = new InetSocketAddress(ScriptedDevice.ADDRESS, 4791);

    private final ScriptedDevice device = new ScriptedDevice();
    private final Queue<Integer> rights = new ConcurrentLinkedQueue<>();
    private final AtomicInteger establishes = new AtomicInteger();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    @BeforeEach
    void open() throws Exception {
        device.fake.iwarp();
        device.fake.answer("ibv_reg_mr", arguments -> {
            rights.add((Integer) arguments[3]);
            return null;
        });
        device.fake.answer("rdma_establish", arguments -> establishes.incrementAndGet());
        endpoint = device.open(EndpointOptions.DEFAULT);
    }

    @AfterEach
    void close() {
        endpoint.close();
        device.close();
    }

    @Test
    void connectionManagerDrivesTheQueuePairStates() throws Exception {
        CompletableFuture<RdmaConnection> connecting = endpoint.connect(REMOTE, Duration.ofSeconds(30), new byte[] {1});
        ScriptedDevice.Asked asked = ScriptedDevice.next(device.connects);
        device.happen(asked.id(), CmConstants.RDMA_CM_EVENT_ESTABLISHED, 0, 1, 1, new byte[] {2});
        assertThat(ConnectedEndpoints.get(connecting).peerData()).containsExactly(2);
        ConnectedEndpoints.get(connecting).close();
        endpoint.close();
        assertThat(device.transitions)
                .extracting(ScriptedDevice.Transition::state)
                .startsWith(VerbsConstants.IBV_QPS_INIT)
                .doesNotContain(VerbsConstants.IBV_QPS_RTR, VerbsConstants.IBV_QPS_RTS);
        assertThat(establishes).hasValue(0);
    }

    @Test
    void aServerLeavesItsQueuePairToTheConnectionManagerToo() throws Exception {
        device.accepted(endpoint).close();
        endpoint.close();
        assertThat(device.transitions)
                .extracting(ScriptedDevice.Transition::state)
                .doesNotContain(VerbsConstants.IBV_QPS_RTR, VerbsConstants.IBV_QPS_RTS);
    }

    /** The call connects by TCP. */
    @Test
    void aRefusalComesFromTheCallThatConnects() throws Exception {
        device.fake.fail("rdma_connect", Errno.ECONNREFUSED);
        assertThat(failure(endpoint.connect(REMOTE, Duration.ofSeconds(30))))
                .isInstanceOfSatisfying(
                        RdmaRefusedException.class,
                        refused -> assertThat(refused.reason()).isEmpty())
                .hasMessageContaining("connect to " + REMOTE)
                .hasMessageContaining("no listener at that address")
                .hasMessageContaining("ECONNREFUSED (111)");
        device.fake.fail("rdma_connect", Errno.EHOSTUNREACH);
        assertThat(failure(endpoint.connect(REMOTE, Duration.ofSeconds(30))))
                .isExactlyInstanceOf(IOException.class)
                .hasMessageContaining("EHOSTUNREACH (113)");
    }

    private static Throwable failure(CompletableFuture<?> future) throws Exception {
        return ConnectedEndpoints.get(future.handle((made, failure) -> failure));
    }

    /** The peer may send as soon as it is connected, and a message without a receive ends the connection. */
    @Test
    void aMemoryServerReceivesBeforeItAccepts() throws Exception {
        AtomicInteger receivesWhenAccepting = new AtomicInteger();
        device.fake.answer("rdma_accept", arguments -> {
            receivesWhenAccepting.set(device.receives.size());
            return 0;
        });
        MemoryServer server = endpoint.serveMemory(0, 1 << 20, request -> ConnectAnswer.accept());
        long id = device.request(server.address().getPort(), 1, 1, new byte[0]);
        ScriptedDevice.Receive first = ScriptedDevice.next(device.receives);
        device.deliver(first, MemoryMessage.allocate(1, 100).encode());
        assertThat(ScriptedDevice.next(device.posted).opcode()).isEqualTo(VerbsConstants.IBV_WR_SEND);
        assertThat(receivesWhenAccepting).hasPositiveValue();
        device.happen(id, CmConstants.RDMA_CM_EVENT_ESTABLISHED);
        server.close();
    }

    /** The peer may ask again as soon as it has the answer. */
    @Test
    void aMemoryServerReceivesAgainBeforeItAnswers() throws Exception {
        MemoryServer server = endpoint.serveMemory(0, 1 << 20, request -> ConnectAnswer.accept());
        device.request(server.address().getPort(), 1, 1, new byte[0]);
        ScriptedDevice.next(device.accepts);
        ScriptedDevice.Receive first = ScriptedDevice.next(device.receives);
        for (int i = 1; i < 8; i++) {
            ScriptedDevice.next(device.receives);
        }
        BlockingQueue<Integer> receivesWhenSending = new LinkedBlockingQueue<>();
        device.beforeSend = () -> receivesWhenSending.add(device.receives.size());
        device.deliver(first, MemoryMessage.allocate(1, 100).encode());
        assertThat(ScriptedDevice.next(receivesWhenSending)).isEqualTo(1);
        server.close();
    }

    /** READ writes to local memory by the right of a peer. */
    @Test
    void memoryForReadsMayBeWrittenByPeers() {
        rights.clear();
        endpoint.allocate(16, Set.of(Access.LOCAL_WRITE)).close();
        endpoint.allocate(16, Set.of(Access.REMOTE_READ)).close();
        assertThat(rights)
                .containsExactly(
                        VerbsConstants.IBV_ACCESS_LOCAL_WRITE | VerbsConstants.IBV_ACCESS_REMOTE_WRITE,
                        VerbsConstants.IBV_ACCESS_REMOTE_READ);
    }
}
