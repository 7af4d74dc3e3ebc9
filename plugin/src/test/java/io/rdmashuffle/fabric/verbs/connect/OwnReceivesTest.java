// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeBuffer;
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

/** Peers of a device without shared receive queues, as erdma, mana and ionic. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class OwnReceivesTest {
    /** 3 queue pairs with 8 receives and a response each, and not a fourth. */
    private static final int COMPLETIONS = 35;

    private ConnectRig rig;
    private Acceptor acceptor;

    @BeforeEach
    void open() {
        FakeRdma rdma = new FakeRdma();
        rdma.maxSharedReceives(0);
        rdma.maxCompletions(COMPLETIONS);
        rig = new ConnectRig(rdma);
        acceptor = new Acceptor(
                rig.ids,
                List.of(rig.rail),
                ConnectRig.FABRIC_ID,
                ConnectRig.settings(Secret.NONE),
                rig::responder,
                rig.clock::get);
    }

    @AfterEach
    void close() {
        acceptor.close();
        rig.close();
    }

    /** Has a peer ask to connect; returns the id of the request. */
    private long connect(int lane) {
        long id = rig.rdma.requestedId();
        Handshake request =
                Handshake.request(ConnectRig.PEER_FABRIC_ID, ConnectRig.FABRIC_ID, lane, Secret.NONE, ConnectRig.ENDS);
        rig.rdma.event(id, CmEvent.Type.CONNECT_REQUEST, 0, request.encoded());
        acceptor.onRequest(Objects.requireNonNull(rig.events.nextEvent(), "no event"));
        return id;
    }

    private List<Integer> pairs() {
        return rig.rdma.queues().pairNumbers();
    }

    private static byte[] query() {
        try (NativeBuffer buffer = new NativeBuffer(RegionTable.QUERY_BYTES)) {
            RegionTable.writeQuery(buffer.address(), 0);
            byte[] bytes = new byte[RegionTable.QUERY_BYTES];
            buffer.getBytes(0, bytes, 0, bytes.length);
            return bytes;
        }
    }

    @Test
    void eachPeerHasMoreThanItSendsAndIsAnswered() {
        connect(0);
        connect(1);
        for (int pair : pairs()) {
            assertThat(rig.rdma.queues().receives(pair)).isEqualTo(8).isGreaterThan(Receives.MAX_MESSAGES_OF_READER);
            rig.rdma.queues().deliver(pair, query());
        }
        acceptor.serve();
        for (int pair : pairs()) {
            assertThat(rig.rdma.queues().posted(pair)).as("answers").hasSize(1);
            assertThat(rig.rdma.queues().receives(pair)).isEqualTo(8);
        }
    }

    @Test
    void morePeersThanCompletionsFitAreRefused() {
        for (int lane = 0; lane < 3; lane++) {
            connect(lane);
        }
        for (int pair : pairs()) {
            for (int i = 0; i < 8; i++) {
                rig.rdma.queues().deliver(pair, query());
            }
        }
        byte[] told = Objects.requireNonNull(rig.rdma.rejectOf(connect(3)), "not rejected");
        assertThat(Handshake.meaningOf(told)).isEqualTo(Handshake.Refusal.TOO_MANY.meaning());
        assertThat(pairs()).hasSize(3);
    }

    /** It would be flushed again without end. */
    @Test
    void aReceiveOfAQueuePairThatFailedIsNotPostedAgain() {
        connect(0);
        int pair = pairs().get(0);
        rig.rdma.queues().failReceive(pair, VerbsConstants.IBV_WC_WR_FLUSH_ERR);
        acceptor.serve();
        assertThat(rig.rdma.queues().receives(pair)).isEqualTo(7);
    }

    @Test
    void aReceiveThatTheDeviceRefusesIsPostedLater() {
        connect(0);
        int pair = pairs().get(0);
        rig.rdma.queues().deliver(pair, new byte[3]);
        rig.rdma.queues().failPost(Errno.ENOMEM.number(), 0);
        acceptor.serve();
        assertThat(rig.rdma.queues().receives(pair)).isEqualTo(7);
        rig.rdma.queues().failPost(0, 0);
        acceptor.serve();
        assertThat(rig.rdma.queues().receives(pair)).isEqualTo(8);
    }

    /** Nothing else needs its receives. */
    @Test
    void aPeerThatGoesIsEndedAtOnceAndItsMemoryIsForTheNext() {
        ControlMemory.Slot slot = rig.rail.controlMemory().take();
        rig.rail.controlMemory().release(slot);
        long registrations = rig.rdma.calls("ibv_reg_mr");
        for (int i = 0; i < 1000; i++) {
            rig.step(connect(0), CmEvent.Type.DISCONNECTED);
            assertThat(pairs()).isEmpty();
        }
        assertThat(rig.rdma.calls("ibv_reg_mr")).isEqualTo(registrations);
    }

    @Test
    void aRequestThatCannotBeAcceptedLeavesNothing() {
        rig.rdma.fail("rdma_accept", Errno.EINVAL);
        for (int i = 0; i < 10; i++) {
            connect(i);
        }
        rig.rdma.repair("rdma_accept");
        assertThat(pairs()).isEmpty();
        for (int lane = 0; lane < 3; lane++) {
            connect(lane);
        }
        assertThat(pairs()).as("room for as many as before").hasSize(3);
    }
}
