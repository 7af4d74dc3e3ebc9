// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.verbs.CmEvent;
import java.util.ArrayList;
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
        acceptor = rig.acceptor(Secret.NONE);
    }

    @AfterEach
    void close() {
        acceptor.close();
        rig.close();
    }

    /** Has a peer ask to connect; returns the id of the request. */
    private long connect(int lane) {
        return rig.ask(acceptor, ConnectRig.request(lane));
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
        assertThat(rig.rdma.notes().receivesAtAccept())
                .as("before the peer can ask: on iWARP a message that finds none ends the connection")
                .containsExactly(8, 8);
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

    /** The first slot is there, the second is not: neither it nor the count of queue pairs is lost. */
    @Test
    void aRequestForWhichThereIsNoMemoryLeavesNothing() {
        ControlMemory memory = rig.rail.controlMemory();
        List<ControlMemory.Slot> taken = new ArrayList<>(List.of(memory.take()));
        rig.rdma.fail("ibv_reg_mr", Errno.ENOMEM);
        takeAll(memory, taken);
        memory.release(taken.remove(0));
        memory.release(taken.remove(0));
        for (int i = 0; i < 10; i++) {
            connect(i);
        }
        assertThat(pairs()).isEmpty();
        List<ControlMemory.Slot> free = new ArrayList<>();
        takeAll(memory, free);
        assertThat(free).hasSize(2);
        rig.rdma.repair("ibv_reg_mr");
        for (int lane = 0; lane < 3; lane++) {
            connect(lane);
        }
        assertThat(pairs()).hasSize(3);
    }

    private static void takeAll(ControlMemory memory, List<ControlMemory.Slot> into) {
        try {
            while (true) {
                into.add(memory.take());
            }
        } catch (NativeException full) {
            // Another block is refused.
        }
    }
}
