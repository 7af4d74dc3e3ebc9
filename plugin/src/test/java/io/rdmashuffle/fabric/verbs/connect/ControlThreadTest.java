// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CmEvent;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The event loop, on a fake connection manager and device: step by step, and as a thread. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ControlThreadTest {
    private ConnectRig rig;
    private final ConcurrentLinkedQueue<String> deviceEvents = new ConcurrentLinkedQueue<>();
    private ControlThread control;

    private boolean ran;

    @BeforeEach
    void open() {
        rig = new ConnectRig();
        control = new ControlThread(
                rig.events,
                rig.rail,
                ConnectRig.FABRIC_ID,
                ConnectRig.settings(Secret.NONE),
                rig.staging,
                rig.admissions,
                new RailEvents() {
                    @Override
                    public void pairFailed(AsyncEvent event) {
                        deviceEvents.add("pair failed");
                    }

                    @Override
                    public void lost(String why) {
                        deviceEvents.add(why);
                    }
                },
                rig.clock::get);
    }

    @AfterEach
    void close() {
        if (!ran) {
            control.stop();
            control.run();
        }
        control.close();
        rig.close();
    }

    private void revoke() {
        rig.admissions.revoke(ConnectRig.PEER_FABRIC_ID);
        control.endServed(ConnectRig.PEER_FABRIC_ID);
    }

    private void step() {
        assertThat(control.step(false)).isTrue();
    }

    private long askPeer() {
        control.connect(rig.target(), rig.listener);
        step();
        long id = rig.rdma.lastId();
        rig.rdma.event(id, CmEvent.Type.ADDRESS_RESOLVED);
        rig.rdma.event(id, CmEvent.Type.ROUTE_RESOLVED);
        step();
        return id;
    }

    private void respond(long id) {
        byte[] asked =
                Objects.requireNonNull(rig.rdma.connectOf(id), "not asked").privateData();
        Handshake request = Objects.requireNonNull(Handshake.read(asked), "not a handshake");
        rig.rdma.event(id, CmEvent.Type.CONNECT_RESPONSE, 0, request.answer(Secret.NONE, ConnectRig.ENDS));
    }

    @Test
    void connectsAndClosesTheIdentityAfterwards() {
        long id = askPeer();
        respond(id);
        step();
        EstablishedPair pair = rig.listener.connected.get(0);
        pair.pair().close();
        control.closeIdentity(pair);
        assertThat(rig.rdma.isOpen(id)).isTrue();
        step();
        assertThat(rig.rdma.isOpen(id)).isFalse();
        assertThat(rig.rail.controlMemory().take()).as("the slot is free again").isEqualTo(pair.slot());
    }

    @Test
    void attemptsExpireAsTimePasses() {
        askPeer();
        rig.pass(ConnectRig.TIMEOUT);
        step();
        assertThat(rig.listener.failed)
                .singleElement()
                .satisfies(failure -> assertThat(failure.reason()).isEqualTo(Reason.NOT_CONNECTED));
    }

    @Test
    void requestToConnectIsAccepted() {
        long id = rig.rdma.requestedId();
        Handshake request =
                Handshake.request(ConnectRig.PEER_FABRIC_ID, ConnectRig.FABRIC_ID, 0, Secret.NONE, ConnectRig.ENDS);
        rig.rdma.event(id, CmEvent.Type.CONNECT_REQUEST, 0, request.encoded());
        step();
        assertThat(rig.rdma.acceptOf(id)).isNotNull();
        rig.rdma.event(id, CmEvent.Type.DISCONNECTED);
        step();
        int pair = rig.rdma.queues().pairNumbers().get(0);
        assertThat(rig.rdma.queues().state(pair)).isEqualTo(VerbsConstants.IBV_QPS_ERR);
        rig.rdma.asyncEvent(VerbsConstants.IBV_EVENT_QP_LAST_WQE_REACHED, pair);
        step();
        assertThat(rig.rdma.isOpen(id)).isFalse();
    }

    @Test
    void processThatLeftIsCutOffInTheNextStep() {
        long id = rig.rdma.requestedId();
        Handshake request =
                Handshake.request(ConnectRig.PEER_FABRIC_ID, ConnectRig.FABRIC_ID, 0, Secret.NONE, ConnectRig.ENDS);
        rig.rdma.event(id, CmEvent.Type.CONNECT_REQUEST, 0, request.encoded());
        step();
        int pair = rig.rdma.queues().pairNumbers().get(0);
        revoke();
        step();
        assertThat(rig.rdma.queues().state(pair)).isEqualTo(VerbsConstants.IBV_QPS_ERR);
        rig.pass(Duration.ofNanos(EndingPairs.LAST_RECEIVE_NANOS));
        step();
        assertThat(rig.rdma.isOpen(id)).isFalse();
        assertThat(rig.rdma.queues().pairNumbers()).isEmpty();
        long again = rig.rdma.requestedId();
        rig.rdma.event(again, CmEvent.Type.CONNECT_REQUEST, 0, request.encoded());
        step();
        assertThat(rig.rdma.rejectOf(again)).isNotNull();
        rig.admissions.admit(ConnectRig.PEER_FABRIC_ID);
        long admitted = rig.rdma.requestedId();
        rig.rdma.event(admitted, CmEvent.Type.CONNECT_REQUEST, 0, request.encoded());
        step();
        assertThat(rig.rdma.acceptOf(admitted)).isNotNull();
        rig.rdma.event(admitted, CmEvent.Type.DISCONNECTED);
        step();
    }

    /** The thread sleeps for a second at most, but does not have to sleep until then. */
    @Test
    void sleepingThreadCutsOffAProcessThatLeft() throws Exception {
        ran = true;
        Thread thread = new Thread(control, "rdma-control-test");
        long id = rig.rdma.requestedId();
        Handshake request =
                Handshake.request(ConnectRig.PEER_FABRIC_ID, ConnectRig.FABRIC_ID, 0, Secret.NONE, ConnectRig.ENDS);
        rig.rdma.event(id, CmEvent.Type.CONNECT_REQUEST, 0, request.encoded());
        thread.start();
        eventually().until(() -> rig.rdma.acceptOf(id) != null);
        int pair = rig.rdma.queues().pairNumbers().get(0);
        revoke();
        eventually().until(() -> rig.rdma.queues().state(pair) == VerbsConstants.IBV_QPS_ERR);
        control.stop();
        thread.join(30_000);
        assertThat(thread.isAlive()).isFalse();
    }

    @Test
    void deviceThatFailsOrGoesIsToldOfAndPortsAreNot() {
        rig.rdma.asyncEvent(VerbsConstants.IBV_EVENT_PORT_ERR);
        rig.rdma.asyncEvent(VerbsConstants.IBV_EVENT_PORT_ACTIVE);
        rig.rdma.asyncEvent(VerbsConstants.IBV_EVENT_LID_CHANGE);
        step();
        assertThat(deviceEvents).isEmpty();
        rig.rdma.asyncEvent(VerbsConstants.IBV_EVENT_QP_FATAL);
        rig.rdma.asyncEvent(VerbsConstants.IBV_EVENT_DEVICE_FATAL);
        rig.rdma.asyncEvent(VerbsConstants.IBV_EVENT_CQ_ERR);
        rig.rdma.asyncEvent(VerbsConstants.IBV_EVENT_SRQ_ERR);
        rig.rdma.event(rig.rdma.lastId(), CmEvent.Type.DEVICE_REMOVAL);
        step();
        // Events of identifiers come before the device's own events.
        assertThat(deviceEvents).hasSize(5).startsWith("the device is being removed", "pair failed");
    }

    /** The disk answers when the rail is closed already. */
    @Test
    void stepsAfterTheEndRunInTheirCaller() {
        long id = askPeer();
        respond(id);
        step();
        EstablishedPair pair = rig.listener.connected.get(0);
        ran = true;
        control.stop();
        control.run();
        pair.pair().close();
        control.closeIdentity(pair);
        assertThat(rig.rdma.isOpen(id)).isFalse();
        control.close();
    }

    @Test
    void partThatFailsDoesNotKeepTheOthersFromTheirWork() {
        rig.rdma.fail("rdma_get_cm_event", Errno.EIO);
        control.connect(rig.target(), rig.listener);
        assertThat(control.step(false)).isFalse();
        rig.pass(ConnectRig.TIMEOUT);
        assertThat(control.step(false)).isFalse();
        assertThat(rig.listener.failed).hasSize(1);
        rig.rdma.repair("rdma_get_cm_event");
        step();
    }

    @Test
    void threadServesUntilItIsStoppedAndFailsWhatIsUnderWay() throws Exception {
        ran = true;
        Thread thread = new Thread(control, "rdma-control-test");
        thread.start();
        eventually().until(() -> rig.rdma.queues().armed() > 0);
        control.connect(rig.target(), rig.listener);
        eventually().until(() -> rig.rdma.calls("rdma_resolve_addr") == 1);
        control.stop();
        control.awaitConnectingStopped(30_000);
        thread.join(30_000);
        assertThat(thread.isAlive()).isFalse();
        assertThat(rig.listener.failed)
                .singleElement()
                .satisfies(failure -> assertThat(failure.reason()).isEqualTo(Reason.CLOSED));
    }

    @Test
    void waitingForTheEndOfAttemptsHasALimit() {
        control.awaitConnectingStopped(Duration.ofMillis(1).toMillis());
        Thread.currentThread().interrupt();
        control.awaitConnectingStopped(30_000);
        assertThat(Thread.interrupted()).as("the interruption is kept").isTrue();
    }
}
