// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CmEvent;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Queue pairs that end while they hold receives of the shared queue. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class EndingPairsTest {
    private ConnectRig rig;
    private Acceptor acceptor;

    @BeforeEach
    void open() {
        rig = new ConnectRig();
        acceptor = rig.acceptor(Secret.NONE);
    }

    @AfterEach
    void close() {
        acceptor.close();
        rig.close();
    }

    /** Has a peer connect; returns the id of the connection. */
    private long connect(int lane) {
        return rig.ask(acceptor, ConnectRig.request(lane));
    }

    private List<Integer> pairs() {
        return rig.rdma.queues().pairNumbers();
    }

    private void tellOfLastReceive(int pair) {
        long about = rig.rdma.queues().handleOf(pair);
        acceptor.onDeviceEvent(new AsyncEvent(AsyncEvent.Type.LAST_WQE_REACHED, "last WQE reached", about, 0));
    }

    /** Without the wait, a peer that goes with a message under way takes a receive along, and 4096 of them all. */
    @Test
    void receivesOfPeersThatGoComeBack() {
        connect(1000);
        int other = pairs().get(0);
        for (int lane = 0; lane < 3 * FakeRdma.MAX_SHARED_RECEIVES; lane++) {
            long id = connect(lane);
            int pair = pairs().get(1);
            rig.step(id, CmEvent.Type.DISCONNECTED);
            rig.rdma.queues().failReceive(pair, VerbsConstants.IBV_WC_WR_FLUSH_ERR);
            tellOfLastReceive(pair);
            assertThat(pairs()).containsExactly(other);
        }
        assertThat(rig.rdma.queues().receives(other)).isEqualTo(FakeRdma.MAX_SHARED_RECEIVES);
    }

    @Test
    void deviceThatTellsOfNothingIsWaitedForOneSecond() {
        long id = connect(0);
        rig.step(id, CmEvent.Type.DISCONNECTED);
        rig.pass(Duration.ofNanos(EndingPairs.LAST_RECEIVE_NANOS - 1));
        acceptor.expire();
        assertThat(pairs()).hasSize(1);
        assertThat(rig.rdma.isOpen(id)).isTrue();
        rig.pass(Duration.ofNanos(1));
        acceptor.expire();
        assertThat(pairs()).isEmpty();
        assertThat(rig.rdma.isOpen(id)).isFalse();
    }

    /** Of a queue pair that failed by itself the device may tell before the connection manager does. */
    @Test
    void deviceThatTellsFirstEndsTheQueuePair() {
        long id = connect(0);
        tellOfLastReceive(pairs().get(0));
        assertThat(pairs()).isEmpty();
        assertThat(rig.rdma.isOpen(id)).isFalse();
    }

    @Test
    void anEventOfAnotherQueuePairEndsNothing() {
        rig.step(connect(0), CmEvent.Type.DISCONNECTED);
        acceptor.onDeviceEvent(new AsyncEvent(AsyncEvent.Type.LAST_WQE_REACHED, "last WQE reached", 1, 0));
        assertThat(pairs()).hasSize(1);
    }

    @Test
    void oneThatCannotBeDestroyedDoesNotKeepTheOthers() {
        rig.step(connect(0), CmEvent.Type.DISCONNECTED);
        int first = pairs().get(0);
        rig.step(connect(1), CmEvent.Type.DISCONNECTED);
        int second = pairs().get(1);
        rig.rdma.fail("ibv_destroy_qp", Errno.EBUSY);
        tellOfLastReceive(first);
        rig.rdma.repair("ibv_destroy_qp");
        tellOfLastReceive(second);
        assertThat(pairs()).containsExactly(first);
        rig.rdma.queues().forget(first);
    }

    @Test
    void fabricThatClosesWaitsForNone() {
        rig.step(connect(0), CmEvent.Type.DISCONNECTED);
        connect(1);
        acceptor.close();
        assertThat(pairs()).isEmpty();
    }
}
