// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.device.CmParameters;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.ffi.CmLayout.rdma_cm_event;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.verbs.CmEvent;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Attempts to connect, step by step on a fake connection manager. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class ConnectorTest {
    /** Number of the queue pair that peers answer with, which their proof is for. */
    private static final int PEER_PAIR = 33;

    private ConnectRig rig;
    private Connector connector;
    private long jitterNanos;

    @BeforeEach
    void open() {
        rig = new ConnectRig();
        open(AttemptWindow.MAX);
    }

    private void open(int window) {
        connector = new Connector(
                rig.events,
                rig.ids,
                ConnectRig.FABRIC_ID,
                ConnectRig.settings(ConnectRig.SECRET),
                rig.clock::get,
                new AttemptWindow(window),
                bound -> Math.min(jitterNanos, bound - 1));
    }

    @AfterEach
    void close() {
        connector.close();
        rig.endConnected();
        rig.close();
    }

    private long start() {
        connector.start(rig.target(), rig.listener);
        return rig.rdma.lastId();
    }

    private CmParameters request(long id) {
        return Objects.requireNonNull(rig.rdma.connectOf(id), "not asked to connect");
    }

    private boolean isBusy() {
        return connector.isBusy();
    }

    /** Returns how many attempts have begun. */
    private long begun() {
        return rig.rdma.calls("rdma_resolve_addr");
    }

    private void start(int count) {
        for (int i = 0; i < count; i++) {
            connector.start(rig.target(), rig.listener);
        }
    }

    /** Goes on until the peer is asked. */
    private long startAndAsk() {
        long id = start();
        rig.step(id, CmEvent.Type.ADDRESS_RESOLVED);
        rig.step(id, CmEvent.Type.ROUTE_RESOLVED);
        return id;
    }

    private void respond(long id, Secret secret) {
        Handshake request = Objects.requireNonNull(Handshake.read(request(id).privateData()), "not a handshake");
        byte[] answer = request.answer(secret, ConnectRig.ends(PEER_PAIR));
        long event = rig.rdma.event(id, CmEvent.Type.CONNECT_RESPONSE, 0, answer);
        RawMemory.putInt(event + rdma_cm_event.param__conn__qp_num, PEER_PAIR);
        rig.dispatch();
    }

    private ReadFailedException onlyFailure() {
        assertThat(rig.listener.connected).isEmpty();
        assertThat(rig.listener.failed).hasSize(1);
        assertThat(isBusy()).isFalse();
        assertThat(rig.rdma.queues().pairNumbers()).as("queue pairs").isEmpty();
        ReadFailedException failure = rig.listener.failed.get(0);
        assertThat(failure).hasMessageContaining("executor 7 at").hasMessageContaining("from fake0:1");
        return failure;
    }

    @Test
    void connectsInFourSteps() {
        long id = startAndAsk();
        assertThat(isBusy()).isTrue();
        CmParameters request = request(id);
        int pair = rig.rdma.queues().pairNumbers().get(0);
        assertThat(request.pairNumber()).isEqualTo(pair);
        assertThat(rig.rdma.queues().state(pair)).isEqualTo(VerbsConstants.IBV_QPS_INIT);
        Handshake handshake = Objects.requireNonNull(Handshake.read(request.privateData()), "not a handshake");
        assertThat(handshake.from()).isEqualTo(ConnectRig.FABRIC_ID);
        assertThat(handshake.to()).isEqualTo(ConnectRig.PEER_FABRIC_ID);
        assertThat(handshake.lane()).isEqualTo(3);
        assertThat(handshake.isProven(ConnectRig.SECRET, ConnectRig.ends(pair))).isTrue();
        respond(id, ConnectRig.SECRET);
        assertThat(isBusy()).isFalse();
        assertThat(rig.rdma.queues().state(pair)).isEqualTo(VerbsConstants.IBV_QPS_RTS);
        assertThat(rig.rdma.calls("rdma_establish")).isOne();
        assertThat(rig.rdma.calls("ibv_query_qp")).as("which GID it sends with").isOne();
        assertThat(rig.listener.connected).singleElement().satisfies(established -> {
            assertThat(established.depth()).as("a power of two not above 100").isEqualTo(64);
            assertThat(established.maxReadBytes()).isEqualTo(1 << 20);
            assertThat(established.pair().number()).isEqualTo(pair);
        });
    }

    @Test
    void initiatorDepthIsWhatTheDeviceCanDo() {
        CmParameters request = request(startAndAsk());
        assertThat(request.initiatorDepth()).isEqualTo(FakeRdma.MAX_READS_AS_INITIATOR);
        assertThat(request.responderResources()).isOne();
    }

    @Test
    void refusalSaysWhatThePeerSaid() {
        long id = startAndAsk();
        rig.rdma.event(id, CmEvent.Type.REJECTED, 28, Handshake.refusal(Handshake.Refusal.ANOTHER_PROCESS));
        rig.dispatch();
        assertThat(onlyFailure()).hasMessageContaining("refused: another process listens there now");
        assertThat(rig.rdma.isOpen(id)).isFalse();
    }

    @ParameterizedTest
    @EnumSource(names = {"ADDRESS_ERROR", "ROUTE_ERROR", "UNREACHABLE", "DISCONNECTED"})
    void errorOfAStepMeansThatThePeerIsGone(CmEvent.Type type) {
        long id = startAndAsk();
        rig.rdma.event(id, type, -Errno.EHOSTUNREACH.number(), new byte[0]);
        rig.dispatch();
        assertThat(onlyFailure().reason()).isEqualTo(Reason.PEER_GONE);
        assertThat(rig.rdma.isOpen(id)).isFalse();
    }

    @ParameterizedTest
    @EnumSource(names = {"ADDRESS_ERROR", "ROUTE_ERROR", "UNREACHABLE"})
    void stepThatRanOutOfTimeInTheKernelIsNoFaultOfThePath(CmEvent.Type type) {
        long id = startAndAsk();
        rig.rdma.event(id, type, -Errno.ETIMEDOUT.number(), new byte[0]);
        rig.dispatch();
        ReadFailedException failure = onlyFailure();
        assertThat(failure.reason()).isEqualTo(Reason.NOT_CONNECTED);
        assertThat(failure.reason().isFaultOfPath()).isFalse();
    }

    @Test
    void stepThatDoesNotBelongFailsTheAttempt() {
        rig.step(startAndAsk(), CmEvent.Type.ESTABLISHED);
        assertThat(onlyFailure().reason()).isEqualTo(Reason.TRANSPORT_ERROR);
    }

    @Test
    void responseBeforeTheQueuePairFailsTheAttempt() {
        rig.step(start(), CmEvent.Type.CONNECT_RESPONSE);
        assertThat(onlyFailure()).hasMessageContaining("CONNECT_RESPONSE before the queue pair was created");
    }

    @Test
    void peerThatDoesNotProveTheSecretIsNotTrusted() {
        respond(startAndAsk(), Secret.of(new byte[] {4}));
        assertThat(onlyFailure()).hasMessageContaining("spark.authenticate");
    }

    @Test
    void lateResponseIsIgnoredAfterTheTimeout() {
        long id = startAndAsk();
        rig.pass(ConnectRig.TIMEOUT.minusNanos(1));
        connector.serve();
        assertThat(rig.listener.failed).isEmpty();
        rig.pass(Duration.ofNanos(1));
        connector.serve();
        ReadFailedException failure = onlyFailure();
        assertThat(failure.reason().isFaultOfPath()).isFalse();
        assertThat(failure)
                .hasMessageContaining("no answer within 5 s (spark.shuffle.rdma.fabric.verbs.connectTimeout)");
        rig.rdma.event(id, CmEvent.Type.CONNECT_RESPONSE);
        assertThat(rig.events.nextEvent()).as("the id is gone").isNull();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rdma_create_id",
                "rdma_set_option",
                "rdma_resolve_addr",
                "rdma_resolve_route",
                "ibv_create_qp",
                "ibv_modify_qp",
                "rdma_connect",
                "rdma_establish",
                "ibv_reg_mr"
            })
    void callThatFailsEndsTheAttempt(String function) {
        rig.rdma.fail(function, Errno.ENOMEM);
        long before = rig.rdma.lastId();
        connector.start(rig.target(), rig.listener);
        long id = rig.rdma.lastId();
        if (rig.listener.failed.isEmpty()) {
            rig.step(id, CmEvent.Type.ADDRESS_RESOLVED);
        }
        if (rig.listener.failed.isEmpty()) {
            rig.step(id, CmEvent.Type.ROUTE_RESOLVED);
        }
        if (rig.listener.failed.isEmpty()) {
            respond(id, ConnectRig.SECRET);
        }
        assertThat(onlyFailure()).hasMessageContaining("ENOMEM");
        assertThat(rig.rdma.lastId()).as("the listener's id alone is left").isEqualTo(before);
    }

    @Test
    void portThatIsDownFailsTheAttemptAtOnce() {
        rig.rdma.portActive(false);
        connector.start(rig.target(), rig.listener);
        assertThat(onlyFailure()).hasMessageContaining("the port is down");
        rig.rdma.fail("ibv_query_port", Errno.EIO);
        connector.start(rig.target(), rig.listener);
        assertThat(rig.listener.failed).hasSize(2);
    }

    @Test
    void listenerHearsOfTheEndOfItsConnection() {
        long id = startAndAsk();
        respond(id, ConnectRig.SECRET);
        rig.step(id, CmEvent.Type.TIMEWAIT_EXIT);
        assertThat(rig.listener.broken).isEmpty();
        rig.step(id, CmEvent.Type.DISCONNECTED);
        rig.step(id, CmEvent.Type.DEVICE_REMOVAL);
        assertThat(rig.listener.broken)
                .hasSize(2)
                .allSatisfy(failure -> assertThat(failure.reason()).isEqualTo(Reason.PEER_GONE));
        assertThat(rig.listener.failed).isEmpty();
    }

    @Test
    void closeFailsAttemptsAndThoseThatAreStartedLater() {
        startAndAsk();
        connector.close();
        assertThat(onlyFailure().reason()).isEqualTo(Reason.CLOSED);
        connector.start(rig.target(), rig.listener);
        assertThat(rig.listener.failed).hasSize(2);
    }

    @Test
    void noMoreThan64AreUnderWayAndTheOthersFollowInOrder() {
        start(AttemptWindow.MAX);
        long first = rig.rdma.lastId();
        ConnectRig.Listener patient = new ConnectRig.Listener();
        ConnectRig.Listener last = new ConnectRig.Listener();
        connector.start(rig.target(), patient);
        connector.start(rig.target(), last);
        assertThat(begun()).isEqualTo(AttemptWindow.MAX);
        rig.step(first, CmEvent.Type.UNREACHABLE);
        connector.serve();
        assertThat(begun()).isEqualTo(AttemptWindow.MAX + 1);
        rig.step(rig.rdma.lastId(), CmEvent.Type.REJECTED);
        assertThat(patient.failed).hasSize(1);
        connector.serve();
        rig.step(rig.rdma.lastId(), CmEvent.Type.REJECTED);
        assertThat(last.failed).hasSize(1);
        assertThat(isBusy()).isTrue();
    }

    /** One that never answers must not keep the others waiting until its time is up. */
    @Test
    void attemptsThatHaveStalledLeaveTheirPlaceInTheWindow() {
        open(2);
        start(5);
        assertThat(begun()).isEqualTo(2);
        assertThat(connector.nanosToWait(Long.MAX_VALUE)).isEqualTo(AttemptWindow.STALLED_NANOS);
        rig.pass(Duration.ofNanos(AttemptWindow.STALLED_NANOS - 1));
        connector.serve();
        assertThat(begun()).isEqualTo(2);
        rig.pass(Duration.ofNanos(1));
        connector.serve();
        assertThat(begun()).isEqualTo(4);
        assertThat(connector.nanosToWait(Long.MAX_VALUE))
                .as("until the first two have run out of time")
                .isEqualTo(ConnectRig.TIMEOUT.toNanos() - AttemptWindow.STALLED_NANOS);
        assertThat(rig.listener.failed).isEmpty();
    }

    @Test
    void windowGrowsWithAnswersAndShrinksWithTimeouts() {
        open(1);
        long id = startAndAsk();
        start(4);
        respond(id, ConnectRig.SECRET);
        connector.serve();
        assertThat(begun()).as("one made, two under way").isEqualTo(3);
        rig.pass(ConnectRig.TIMEOUT);
        connector.serve();
        assertThat(rig.listener.failed).hasSize(2);
        assertThat(begun()).as("one under way").isEqualTo(4);
    }

    @Test
    void connectionThatIsMadeLeavesRoomForTheNext() {
        start(AttemptWindow.MAX - 1);
        long id = startAndAsk();
        start(1);
        respond(id, ConnectRig.SECRET);
        connector.serve();
        assertThat(rig.listener.connected).hasSize(1);
        assertThat(begun()).isEqualTo(AttemptWindow.MAX + 1);
    }

    @Test
    void timeOfAnAttemptBeginsWhenItsTurnHasCome() {
        start(AttemptWindow.MAX);
        ConnectRig.Listener patient = new ConnectRig.Listener();
        connector.start(rig.target(), patient);
        rig.pass(ConnectRig.TIMEOUT);
        connector.serve();
        assertThat(rig.listener.failed).hasSize(AttemptWindow.MAX);
        assertThat(begun()).isEqualTo(AttemptWindow.MAX + 1);
        rig.pass(ConnectRig.TIMEOUT.minusNanos(1));
        connector.serve();
        assertThat(patient.failed).isEmpty();
        rig.pass(Duration.ofNanos(1));
        connector.serve();
        assertThat(patient.failed).hasSize(1);
    }

    @Test
    void attemptsThatRunOutOfTimeAreToldOnceAMinute() {
        try (LoggedLines lines = LoggedLines.of(Connector.class)) {
            for (int i = 0; i < 3; i++) {
                start(4);
                rig.pass(ConnectRig.TIMEOUT);
                connector.serve();
            }
            assertThat(lines.all())
                    .singleElement()
                    .satisfies(line -> assertThat(line)
                            .contains("executor 7", "spark.shuffle.rdma.fabric.verbs.connectTimeout", "(0 others"));
            rig.pass(Duration.ofMinutes(1));
            start(1);
            rig.pass(ConnectRig.TIMEOUT);
            connector.serve();
            assertThat(lines.all())
                    .hasSize(2)
                    .last()
                    .satisfies(line -> assertThat(line).contains("(11 others"));
        }
    }

    @Test
    void attemptThatHasLostItsUseIsNotTried() {
        start(AttemptWindow.MAX);
        ConnectRig.Listener gone = new ConnectRig.Listener();
        connector.start(rig.target(), gone);
        gone.wanted = false;
        connector.serve();
        assertThat(gone.notTried).as("before its turn").isZero();
        rig.step(rig.rdma.lastId(), CmEvent.Type.UNREACHABLE);
        connector.serve();
        assertThat(gone.notTried).isOne();
        assertThat(gone.failed).isEmpty();
        assertThat(begun()).isEqualTo(AttemptWindow.MAX);
    }

    @Test
    void manyAttemptsAreSpreadOverAMoment() {
        jitterNanos = Duration.ofMillis(7).toNanos();
        start(Connector.CROWD + 2);
        assertThat(begun()).as("few begin at once").isEqualTo(Connector.CROWD);
        assertThat(connector.nanosToWait(Long.MAX_VALUE)).isEqualTo(jitterNanos);
        rig.pass(Duration.ofNanos(jitterNanos - 1));
        connector.serve();
        assertThat(begun()).isEqualTo(Connector.CROWD);
        rig.pass(Duration.ofNanos(1));
        connector.serve();
        assertThat(begun()).isEqualTo(Connector.CROWD + 2);
        rig.pass(ConnectRig.TIMEOUT.minusNanos(1));
        connector.serve();
        assertThat(rig.listener.failed)
                .as("the others have had their time from their own beginning")
                .hasSize(Connector.CROWD);
    }

    @Test
    void jitterIsNeverMoreThanItsBound() {
        jitterNanos = Long.MAX_VALUE;
        start(Connector.CROWD + 1);
        rig.pass(Duration.ofNanos(Connector.JITTER_NANOS));
        connector.serve();
        assertThat(begun()).isEqualTo(Connector.CROWD + 1);
    }

    @Test
    void portThatGoesDownFailsWhatWaitsWhenItsTurnComes() {
        start(AttemptWindow.MAX);
        ConnectRig.Listener patient = new ConnectRig.Listener();
        connector.start(rig.target(), patient);
        rig.rdma.portActive(false);
        rig.pass(ConnectRig.TIMEOUT);
        connector.serve();
        assertThat(patient.failed)
                .singleElement()
                .satisfies(failure -> assertThat(failure).hasMessageContaining("the port is down"));
        assertThat(begun()).isEqualTo(AttemptWindow.MAX);
    }

    @Test
    void closeFailsWhatWaitsToo() {
        start(AttemptWindow.MAX + 3);
        connector.close();
        assertThat(rig.listener.failed)
                .hasSize(AttemptWindow.MAX + 3)
                .allSatisfy(failure -> assertThat(failure.reason()).isEqualTo(Reason.CLOSED));
    }
}
