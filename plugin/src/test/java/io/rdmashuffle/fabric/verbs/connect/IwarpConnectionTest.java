// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.verbs.CmEvent;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Both ends of a connection on iWARP: the connection manager moves the queue pairs, the client's answer comes with
 * ESTABLISHED, and no number of a queue pair travels.
 */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class IwarpConnectionTest {
    private ConnectRig rig;

    @BeforeEach
    void open() {
        FakeRdma rdma = new FakeRdma();
        rdma.transport(VerbsConstants.IBV_TRANSPORT_IWARP);
        rig = new ConnectRig(rdma);
    }

    @AfterEach
    void close() {
        rig.endConnected();
        rig.close();
    }

    private int onlyPair() {
        List<Integer> pairs = rig.rdma.queues().pairNumbers();
        assertThat(pairs).hasSize(1);
        return pairs.get(0);
    }

    private Connector connector() {
        return new Connector(
                rig.events,
                rig.ids,
                ConnectRig.FABRIC_ID,
                ConnectRig.settings(ConnectRig.SECRET),
                rig.clock::get,
                new AttemptWindow(1),
                bound -> 0);
    }

    @Test
    void clientIsConnectedByThePeersAnswer() {
        try (Connector connector = connector()) {
            connector.start(rig.target(), rig.listener);
            long id = rig.rdma.lastId();
            rig.step(id, CmEvent.Type.ADDRESS_RESOLVED);
            rig.step(id, CmEvent.Type.ROUTE_RESOLVED);
            byte[] sent = Objects.requireNonNull(rig.rdma.connectOf(id), "not asked to connect")
                    .privateData();
            Handshake request = Objects.requireNonNull(Handshake.read(sent), "not a handshake");
            assertThat(request.isProven(ConnectRig.SECRET, ConnectRig.ends(0))).isTrue();
            byte[] answer = request.answer(ConnectRig.SECRET, ConnectRig.ends(0));
            rig.rdma.event(id, CmEvent.Type.ESTABLISHED, 0, answer);
            rig.dispatch();
            assertThat(rig.listener.connected).hasSize(1);
            assertThat(connector.isBusy()).isFalse();
            assertThat(rig.rdma.queues().state(onlyPair())).as("left to it").isEqualTo(VerbsConstants.IBV_QPS_INIT);
            assertThat(rig.rdma.calls("rdma_establish")).isZero();
            assertThat(rig.rdma.notes().pairRights())
                    .as("what a READ brings is written by the peer's right")
                    .containsExactly(VerbsConstants.IBV_ACCESS_REMOTE_WRITE);
        }
    }

    /** As siw does: it connects while rdma_connect runs. */
    @ParameterizedTest
    @EnumSource(names = {"ECONNREFUSED", "EHOSTUNREACH"})
    void refusedConnectionMeansThatThePeerIsGone(Errno refusal) {
        try (Connector connector = connector()) {
            rig.rdma.fail("rdma_connect", refusal);
            connector.start(rig.target(), rig.listener);
            long id = rig.rdma.lastId();
            rig.step(id, CmEvent.Type.ADDRESS_RESOLVED);
            rig.step(id, CmEvent.Type.ROUTE_RESOLVED);
            assertThat(rig.listener.failed)
                    .singleElement()
                    .satisfies(failure -> assertThat(failure.reason()).isEqualTo(Reason.PEER_GONE));
        }
    }

    @Test
    void kernelTimeoutDoesNotBlameThePath() {
        try (Connector connector = connector()) {
            rig.rdma.fail("rdma_connect", Errno.ETIMEDOUT);
            connector.start(rig.target(), rig.listener);
            long id = rig.rdma.lastId();
            rig.step(id, CmEvent.Type.ADDRESS_RESOLVED);
            rig.step(id, CmEvent.Type.ROUTE_RESOLVED);
            assertThat(rig.listener.failed)
                    .singleElement()
                    .satisfies(failure -> assertThat(failure.reason()).isEqualTo(Reason.NOT_CONNECTED));
        }
    }

    @Test
    void connectionManagerOwnsTheServersQueuePair() {
        try (Acceptor acceptor = rig.acceptor(ConnectRig.SECRET)) {
            Handshake request = Handshake.request(
                    ConnectRig.PEER_FABRIC_ID, ConnectRig.FABRIC_ID, 0, ConnectRig.SECRET, ConnectRig.ends(0));
            long id = rig.ask(acceptor, request.encoded());
            byte[] answer = Objects.requireNonNull(rig.rdma.acceptOf(id), "not accepted");
            assertThat(request.isAnsweredBy(answer, ConnectRig.SECRET, ConnectRig.ends(0)))
                    .isTrue();
            assertThat(rig.rdma.queues().state(onlyPair())).isEqualTo(VerbsConstants.IBV_QPS_INIT);
        }
    }
}
