// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.async.ScriptedDevice.Receive;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Receives that connections share: where messages go, and what becomes of receives when a connection ends. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class SharedReceivesTest {
    private static final int COUNT = 2;
    private static final int MESSAGE_BYTES = 16;
    private static final EndpointOptions OPTIONS =
            new EndpointOptions(4, 4, 16, 64, 1, EndpointOptions.DEFAULT.operationTimeout(), false, 1);

    private final ScriptedDevice device = new ScriptedDevice();
    private final BlockingQueue<Arrived> arrived = new LinkedBlockingQueue<>();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private SharedReceives receives;

    /** A message that the handler got. */
    @SuppressWarnings("ArrayRecordComponent") // a copy, for one test
    private record Arrived(RdmaConnection from, byte[] bytes) {}

    /** A connection and its queue pair. */
    private record Served(RdmaConnection connection, long pair) {}

    @BeforeEach
    void open() throws Exception {
        endpoint = device.open(OPTIONS);
        receives = endpoint.shareReceives(COUNT, MESSAGE_BYTES, this::keep);
    }

    @AfterEach
    void close() {
        endpoint.close();
        device.close();
    }

    private void keep(RdmaConnection from, LocalSlice bytes, ReceivedMessage message) {
        byte[] copy = bytes.region().get(bytes.offset(), bytes.lengthBytes());
        if (copy.length > 0 && copy[0] == 0) {
            throw new IllegalArgumentException("a message that begins with 0");
        }
        if (copy.length > 0 && copy[0] == -1) {
            throw new AssertionError("a message that begins with -1");
        }
        arrived.add(new Arrived(from, copy));
    }

    private Served accepted() throws Exception {
        CompletableFuture<RdmaConnection> accepted = new CompletableFuture<>();
        try (RdmaListener listener =
                endpoint.listen(0, request -> ConnectAnswer.accept(), receives, accepted::complete)) {
            device.request(listener.address().getPort(), 16, 16, new byte[0]);
            return new Served(ConnectedEndpoints.get(accepted), device.lastPair());
        }
    }

    @Test
    void messagesReachTheirConnectionAndReceivesRepost() throws Exception {
        Served first = accepted();
        Served second = accepted();
        for (byte round = 1; round < 10; round++) {
            device.deliver(ScriptedDevice.next(device.receives), first.pair(), new byte[] {round, 1});
            device.deliver(ScriptedDevice.next(device.receives), second.pair(), new byte[] {round});
            Arrived ofFirst = ScriptedDevice.next(arrived);
            Arrived ofSecond = ScriptedDevice.next(arrived);
            assertThat(ofFirst.from()).isSameAs(first.connection());
            assertThat(ofFirst.bytes()).containsExactly(round, 1);
            assertThat(ofSecond.from()).isSameAs(second.connection());
            assertThat(ofSecond.bytes()).containsExactly(round);
        }
        Receive next = ScriptedDevice.next(device.receives);
        assertThat(next.length()).isEqualTo(MESSAGE_BYTES);
        assertThatThrownBy(() -> first.connection().receive(endpoint.allocate(8).slice(0, 8)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("shared receives");
    }

    @Test
    void aWriteWithImmediateDataHasNoBytes() throws Exception {
        Served served = accepted();
        Receive taken = ScriptedDevice.next(device.receives);
        device.complete(
                served.pair(),
                taken.id(),
                VerbsConstants.IBV_WC_SUCCESS,
                VerbsConstants.IBV_WC_RECV_RDMA_WITH_IMM,
                1 << 20);
        assertThat(ScriptedDevice.next(arrived).bytes()).isEmpty();
    }

    @Test
    void handlerThatThrowsEndsItsConnectionOnly() throws Exception {
        Served bad = accepted();
        Served good = accepted();
        device.deliver(ScriptedDevice.next(device.receives), bad.pair(), new byte[] {0});
        assertThat(ConnectedEndpoints.get(bad.connection().ended()))
                .hasMessageContaining("the handler of messages threw")
                .hasRootCauseMessage("a message that begins with 0");
        device.deliver(ScriptedDevice.next(device.receives), good.pair(), new byte[] {1});
        device.deliver(ScriptedDevice.next(device.receives), good.pair(), new byte[] {2});
        assertThat(ScriptedDevice.next(arrived).bytes()).containsExactly(1);
        assertThat(ScriptedDevice.next(arrived).bytes()).containsExactly(2);
        assertThat(good.connection().ended()).isNotDone();
    }

    @Test
    void handlerWithAnErrorEndsItsConnectionOnly() throws Exception {
        Served bad = accepted();
        Served good = accepted();
        device.deliver(ScriptedDevice.next(device.receives), bad.pair(), new byte[] {-1});
        assertThat(ConnectedEndpoints.get(bad.connection().ended()))
                .hasRootCauseMessage("a message that begins with -1");
        device.deliver(ScriptedDevice.next(device.receives), good.pair(), new byte[] {1});
        assertThat(ScriptedDevice.next(arrived).bytes()).containsExactly(1);
        assertThat(good.connection().ended()).isNotDone();
    }

    @Test
    void aListenerOfClosedReceivesRefuses() throws Exception {
        try (RdmaListener listener =
                endpoint.listen(0, request -> ConnectAnswer.accept(), receives, connection -> {})) {
            long before = device.lastPair();
            receives.close();
            device.request(listener.address().getPort(), 16, 16, new byte[0]);
            assertThat(ScriptedDevice.next(device.rejects)).asString().isEqualTo("IOException");
            assertThat(device.lastPair()).as("no queue pair was made").isEqualTo(before);
        }
    }

    @Test
    void aMessageThatIsTooLongEndsItsConnection() throws Exception {
        Served served = accepted();
        Receive taken = ScriptedDevice.next(device.receives);
        device.complete(served.pair(), taken.id(), VerbsConstants.IBV_WC_LOC_LEN_ERR, 0, 0);
        assertThat(ConnectedEndpoints.get(served.connection().ended()))
                .hasMessageContaining("shared receive of at most 16 bytes");
        ScriptedDevice.next(device.receives);
        assertThat(ScriptedDevice.next(device.receives).id()).as("posted again").isEqualTo(taken.id());
    }

    /** What a queue pair has taken comes back before its last receive is reached, and not once it is destroyed. */
    @Test
    void receiveReturnsBeforeItsConnectionEnds() throws Exception {
        Served served = accepted();
        Receive taken = ScriptedDevice.next(device.receives);
        ScriptedDevice.next(device.receives);
        CompletableFuture<Throwable> ended = served.connection().ended();
        device.happen(device.lastId(), CmConstants.RDMA_CM_EVENT_DISCONNECTED);
        device.transitionTo(VerbsConstants.IBV_QPS_ERR);
        assertThat(device.fake.destructions()).doesNotContain("ibv_destroy_qp");
        synchronized (device) { // so that both are there when the thread looks
            device.deviceEvent(VerbsConstants.IBV_EVENT_QP_LAST_WQE_REACHED, served.pair());
            device.complete(served.pair(), taken.id(), VerbsConstants.IBV_WC_WR_FLUSH_ERR, 0, 0);
        }
        ConnectedEndpoints.get(ended);
        assertThat(device.fake.destructions()).contains("ibv_destroy_qp");
        assertThat(ScriptedDevice.next(device.receives).id()).isEqualTo(taken.id());
    }

    @Test
    void aFailureOfTheQueueEndsTheConnectionsThatTakeFromIt() throws Exception {
        Served served = accepted();
        RdmaConnection other = device.accepted(endpoint);
        device.deviceEvent(
                VerbsConstants.IBV_EVENT_SRQ_ERR,
                ScriptedDevice.next(device.receives).queue());
        assertThat(ConnectedEndpoints.get(served.connection().ended())).hasMessageContaining("device event");
        assertThat(other.ended()).isNotDone();
    }

    @Test
    void closeEndsConnectionsAndGivesRoomBack() throws Exception {
        Served served = accepted();
        receives.close();
        receives.close();
        assertThat(ConnectedEndpoints.get(served.connection().ended())).hasMessageContaining("were closed");
        assertThatThrownBy(() -> endpoint.listen(0, request -> ConnectAnswer.accept(), receives, taken -> {}))
                .isInstanceOf(IllegalArgumentException.class);
        // 16 entries of the completion queue: all of them are free again.
        try (SharedReceives all = endpoint.shareReceives(16, 8, this::keep)) {
            assertThat(all.count()).isEqualTo(16);
        }
    }

    @Test
    void oversizedRequestIsRefusedWithoutEffect() throws Exception {
        assertThatThrownBy(() -> endpoint.shareReceives(15, 8, this::keep))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("maxCompletions");
        assertThatThrownBy(() -> endpoint.shareReceives(0, 8, this::keep))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("count");
        device.limits.sharedReceives = 8;
        try (RdmaEndpoint lesser = device.open(OPTIONS)) {
            assertThatThrownBy(() -> lesser.shareReceives(9, 8, this::keep))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("at most 8");
            assertThatThrownBy(() -> lesser.listen(0, request -> ConnectAnswer.accept(), receives, taken -> {}))
                    .hasMessageContaining("another endpoint's");
        }
        device.limits.sharedReceives = 0;
        try (RdmaEndpoint without = device.open(OPTIONS)) {
            assertThatThrownBy(() -> without.shareReceives(1, 8, this::keep))
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("max_srq");
        }
        endpoint.shareReceives(14, 8, this::keep).close();
    }
}
