// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.connect.StagingService.Outcome;
import io.rdmashuffle.fabric.verbs.device.FakeQueues;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Answer;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CmEvent;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Peers that connect and query regions, on a fake connection manager and device. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class AcceptorTest {
    private static final int RECEIVES = FakeRdma.MAX_SHARED_RECEIVES;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ConnectRig rig;
    private Acceptor acceptor;

    @BeforeEach
    void open() {
        rig = new ConnectRig();
        acceptor = rig.acceptor(ConnectRig.SECRET);
    }

    @AfterEach
    void close() {
        acceptor.close();
        rig.close();
    }

    private static Handshake handshake(int lane) {
        return Handshake.request(
                ConnectRig.PEER_FABRIC_ID, ConnectRig.FABRIC_ID, lane, ConnectRig.SECRET, ConnectRig.ENDS);
    }

    /** Has a peer ask to connect; returns the id of the request. */
    private long ask(byte[] privateData) {
        return rig.ask(acceptor, privateData);
    }

    private void assertRefused(byte[] privateData, Handshake.Refusal refusal) {
        long id = ask(privateData);
        byte[] told = Objects.requireNonNull(rig.rdma.rejectOf(id), "not rejected");
        assertThat(Handshake.meaningOf(told)).isEqualTo(refusal.meaning());
        assertThat(rig.rdma.acceptOf(id)).isNull();
        assertThat(rig.rdma.isOpen(id)).isFalse();
    }

    /** Has the device tell that queue pairs in error take no further receive. */
    private void tellOfLastReceives() {
        FakeQueues queues = rig.rdma.queues();
        for (int pair : queues.pairNumbers()) {
            if (queues.state(pair) == VerbsConstants.IBV_QPS_ERR) {
                acceptor.onDeviceEvent(
                        new AsyncEvent(AsyncEvent.Type.LAST_WQE_REACHED, "last", queues.handleOf(pair), 0));
            }
        }
    }

    private int onlyPair() {
        List<Integer> pairs = rig.rdma.queues().pairNumbers();
        assertThat(pairs).hasSize(1);
        return pairs.get(0);
    }

    private static byte[] query(int first) {
        try (NativeBuffer buffer = new NativeBuffer(RegionTable.QUERY_BYTES)) {
            RegionTable.writeQuery(buffer.address(), first);
            byte[] bytes = new byte[RegionTable.QUERY_BYTES];
            buffer.getBytes(0, bytes, 0, bytes.length);
            return bytes;
        }
    }

    @Test
    void provenPeerIsAcceptedAndProvenTo() {
        Handshake request = handshake(0);
        long id = ask(request.encoded());
        byte[] answer = Objects.requireNonNull(rig.rdma.acceptOf(id), "not accepted");
        assertThat(request.isAnsweredBy(answer, ConnectRig.SECRET, ConnectRig.ends(onlyPair())))
                .isTrue();
        assertThat(rig.rdma.queues().state(onlyPair())).isEqualTo(VerbsConstants.IBV_QPS_RTS);
        assertThat(rig.rdma.calls("ibv_query_qp")).as("which GID it sends with").isOne();
        assertThat(Objects.requireNonNull(rig.rdma.acceptedWith(id)).rnrRetries())
                .as("without end")
                .isEqualTo(7);
        assertThat(rig.rdma.notes().rnrTimers()).as("20.48 ms").containsExactly(22);
        rig.step(id, CmEvent.Type.ESTABLISHED);
        rig.step(id, CmEvent.Type.TIMEWAIT_EXIT);
        assertThat(rig.rdma.queues().pairNumbers()).hasSize(1);
        rig.step(id, CmEvent.Type.DISCONNECTED);
        assertThat(rig.rdma.queues().state(onlyPair())).isEqualTo(VerbsConstants.IBV_QPS_ERR);
        tellOfLastReceives();
        assertThat(rig.rdma.queues().pairNumbers()).isEmpty();
        assertThat(rig.rdma.isOpen(id)).isFalse();
    }

    @Test
    void refusesInvalidHandshakes() {
        assertRefused(new byte[0], Handshake.Refusal.NOT_A_HANDSHAKE);
        assertRefused(
                Handshake.request(1, ConnectRig.FABRIC_ID + 1, 0, ConnectRig.SECRET, ConnectRig.ENDS)
                        .encoded(),
                Handshake.Refusal.ANOTHER_PROCESS);
        assertRefused(
                Handshake.request(1, ConnectRig.FABRIC_ID, 0, Secret.NONE, ConnectRig.ENDS)
                        .encoded(),
                Handshake.Refusal.NOT_PROVEN);
        assertRefused(
                Handshake.request(1, ConnectRig.FABRIC_ID, 0, ConnectRig.SECRET, ConnectRig.ends(7))
                        .encoded(),
                Handshake.Refusal.NOT_PROVEN);
        Handshake once = handshake(0);
        ask(once.encoded());
        assertRefused(once.encoded(), Handshake.Refusal.NOT_PROVEN);
        acceptor.close();
        assertRefused(handshake(1).encoded(), Handshake.Refusal.NOT_READY);
    }

    /** A recorded request is useless from another address. */
    @Test
    void proofIsBoundToTheQueuePair() {
        byte[] request = Handshake.request(1, ConnectRig.FABRIC_ID, 0, ConnectRig.SECRET, ConnectRig.ends(7))
                .encoded();
        assertThat(rig.rdma.acceptOf(rig.ask(acceptor, request, 8))).isNull();
        assertThat(rig.rdma.acceptOf(rig.ask(acceptor, request, 7))).isNotNull();
    }

    @Test
    void refusalsOfAHostAreToldOnceAMinute() {
        try (LoggedLines lines = LoggedLines.of(Acceptor.class, Level.INFO)) {
            for (int i = 0; i < 5; i++) {
                assertRefused(new byte[0], Handshake.Refusal.NOT_A_HANDSHAKE);
            }
            assertRefused(
                    Handshake.request(1, 99, 0, ConnectRig.SECRET, ConnectRig.ENDS)
                            .encoded(),
                    Handshake.Refusal.ANOTHER_PROCESS);
            assertThat(lines.all())
                    .hasSize(2)
                    .anySatisfy(line -> assertThat(line).contains("192.0.2.1", "NOT_A_HANDSHAKE", "(0 more"))
                    .anySatisfy(line -> assertThat(line).contains("ANOTHER_PROCESS"));
            rig.pass(Duration.ofMinutes(1));
            assertRefused(new byte[0], Handshake.Refusal.NOT_A_HANDSHAKE);
            assertThat(lines.all())
                    .hasSize(3)
                    .anySatisfy(line -> assertThat(line).contains("NOT_A_HANDSHAKE", "(4 more"));
        }
    }

    @Test
    void peerThatConnectsAnewReplacesItsOldQueuePair() {
        long first = ask(handshake(2).encoded());
        int old = onlyPair();
        ask(handshake(2).encoded());
        assertThat(rig.rdma.queues().state(old)).isEqualTo(VerbsConstants.IBV_QPS_ERR);
        tellOfLastReceives();
        assertThat(onlyPair()).isNotEqualTo(old);
        assertThat(rig.rdma.isOpen(first)).isFalse();
        ask(handshake(3).encoded());
        assertThat(rig.rdma.queues().pairNumbers()).as("another lane").hasSize(2);
    }

    @Test
    void processThatLeftKeepsNothingStaged() throws Exception {
        try (Pool pool = TestPools.create(directory, 1 << 20, 1 << 20, rig.rail::register)) {
            ask(handshake(0).encoded());
            rig.rdma.queues().deliver(onlyPair(), question(1));
            acceptor.serve();
            stage(pool);
            rig.revoke(acceptor, ConnectRig.PEER_FABRIC_ID);
            assertThat(rig.staging.returned()).as("while the queue pair exists").isEmpty();
            tellOfLastReceives();
            assertThat(rig.staging.returned()).hasSize(1);
        }
    }

    @Test
    void peersThatComeAndGoLeaveTheirSlotsBehind() {
        long registrations = rig.rdma.calls("ibv_reg_mr");
        for (int i = 0; i < 1000; i++) {
            rig.step(ask(handshake(0).encoded()), CmEvent.Type.DISCONNECTED);
            tellOfLastReceives();
        }
        assertThat(rig.rdma.queues().pairNumbers()).isEmpty();
        assertThat(rig.rdma.calls("ibv_reg_mr")).as("blocks of control memory").isLessThanOrEqualTo(registrations + 1);
    }

    @Test
    void requestThatCannotBeAcceptedLeavesNothing() {
        rig.rdma.fail("rdma_accept", Errno.EINVAL);
        long id = ask(handshake(0).encoded());
        assertThat(rig.rdma.isOpen(id)).isFalse();
        assertThat(rig.rdma.queues().pairNumbers()).isEmpty();
    }

    @Test
    void deviceEventEndsTheQueuePairThatItIsAbout() {
        ask(handshake(0).encoded());
        ask(handshake(1).encoded());
        long about = rig.rdma.queues().handleOf(rig.rdma.queues().pairNumbers().get(0));
        acceptor.onDeviceEvent(new AsyncEvent(AsyncEvent.Type.PORT_DOWN, "down", about, 1));
        assertThat(rig.rdma.queues().pairNumbers()).hasSize(2);
        acceptor.onDeviceEvent(new AsyncEvent(AsyncEvent.Type.QUEUE_PAIR_FATAL, "fatal", about, 1));
        tellOfLastReceives();
        assertThat(rig.rdma.queues().pairNumbers()).hasSize(1);
    }

    @Test
    void queuePairThatIsDeadAlreadyIsEndedAllTheSame() {
        long id = ask(handshake(0).encoded());
        rig.rdma.fail("ibv_modify_qp", Errno.EINVAL);
        rig.step(id, CmEvent.Type.DISCONNECTED);
        assertThat(rig.rdma.queues().pairNumbers()).isEmpty();
    }

    @Test
    void queryIsAnsweredAndItsReceivePostedAgain() {
        ask(handshake(0).encoded());
        int pair = onlyPair();
        assertThat(rig.rdma.queues().receives(pair)).isEqualTo(RECEIVES);
        assertThat(acceptor.arm()).isTrue();
        rig.rdma.queues().deliver(pair, query(0));
        assertThat(acceptor.arm()).as("a query has come").isFalse();
        assertThat(rig.rdma.queues().receives(pair)).isEqualTo(RECEIVES);
        assertThat(rig.rdma.queues().posted(pair)).singleElement().satisfies(send -> {
            assertThat(send.signaled()).isTrue();
            assertThat(RegionTable.EMPTY
                            .withResponse(send.local(), send.length())
                            .bound())
                    .isZero();
        });
    }

    @Test
    void earlyQueryIsAnsweredAfterTheLastResponse() {
        ask(handshake(0).encoded());
        int pair = onlyPair();
        rig.rdma.queues().deliver(pair, query(0));
        rig.rdma.queues().deliver(pair, query(0));
        acceptor.serve();
        assertThat(rig.rdma.queues().posted(pair)).hasSize(1);
        rig.rdma.queues().succeed(pair, 1);
        acceptor.serve();
        assertThat(rig.rdma.queues().posted(pair)).hasSize(1);
        FakeQueues.Send second = rig.rdma.queues().posted(pair).get(0);
        rig.rdma.queues().fail(pair, second.id(), VerbsConstants.IBV_WC_RNR_RETRY_EXC_ERR);
        acceptor.serve();
        rig.rdma.queues().succeed(pair, 1);
        acceptor.serve();
        assertThat(rig.rdma.queues().posted(pair)).isEmpty();
    }

    @Test
    void messageThatIsNoQueryIsIgnored() {
        ask(handshake(0).encoded());
        int pair = onlyPair();
        rig.rdma.queues().deliver(pair, new byte[3]);
        rig.rdma.queues().deliver(pair, new byte[RegionTable.QUERY_BYTES]);
        acceptor.serve();
        assertThat(rig.rdma.queues().posted(pair)).isEmpty();
        assertThat(rig.rdma.queues().receives(pair)).isEqualTo(RECEIVES);
    }

    @Test
    void manyQueriesNeverLackAReceiveForLong() {
        ask(handshake(0).encoded());
        int pair = onlyPair();
        for (int i = 0; i < 10 * RECEIVES; i++) {
            assertThat(rig.rdma.queues().deliver(pair, query(i))).isTrue();
            if (i % 50 == 0) {
                acceptor.serve();
            }
        }
        acceptor.serve();
        assertThat(rig.rdma.queues().receives(pair)).isEqualTo(RECEIVES);
    }

    private static byte[] question(int id) {
        try (NativeBuffer buffer = new NativeBuffer(StagingMessages.MAX_QUESTION_BYTES)) {
            StagingMessages.writeRange(buffer.address(), 0, Region.FIRST_ON_DISK, 4096, 77);
            byte[] bytes = new byte[StagingMessages.writeQuestion(buffer.address(), id, 1)];
            buffer.getBytes(0, bytes, 0, bytes.length);
            return bytes;
        }
    }

    private static byte[] release(int id) {
        try (NativeBuffer buffer = new NativeBuffer(StagingMessages.RELEASE_BYTES)) {
            StagingMessages.writeRelease(buffer.address(), id);
            byte[] bytes = new byte[StagingMessages.RELEASE_BYTES];
            buffer.getBytes(0, bytes, 0, bytes.length);
            return bytes;
        }
    }

    /** Has the oldest request staged in a lease of the pool. */
    private void stage(Pool pool) throws InterruptedException {
        rig.staging.end(new Outcome(Status.OK, TestPools.reserve(pool, Purpose.STAGING, 77), 77));
    }

    /** Completes the response in flight and returns it. */
    private Answer takeAnswer(int pair) {
        FakeQueues.Send send = rig.rdma.queues().posted(pair).get(0);
        Answer answer = StagingMessages.readAnswer(send.local(), send.length());
        rig.rdma.queues().succeed(pair, 1);
        acceptor.serve();
        return answer;
    }

    @Test
    void stagingRequestsAreAnsweredInOrder() throws Exception {
        try (Pool pool = TestPools.create(directory, 1 << 20, 1 << 20, rig.rail::register)) {
            ask(handshake(0).encoded());
            int pair = onlyPair();
            rig.rdma.queues().deliver(pair, question(1));
            rig.rdma.queues().deliver(pair, question(2));
            rig.rdma.queues().deliver(pair, question(3));
            acceptor.serve();
            assertThat(rig.rdma.queues().posted(pair))
                    .as("while the disk is read")
                    .isEmpty();
            stage(pool);
            rig.staging.end(Outcome.refusal(Status.UNREADABLE));
            stage(pool);
            rig.rdma.queues().deliver(pair, query(0));
            acceptor.serve();
            assertThat(rig.rdma.queues().posted(pair)).as("one at a time").hasSize(1);
            Answer first = takeAnswer(pair);
            assertThat(first.id()).isOne();
            assertThat(first.bytes()).isEqualTo(77);
            assertThat(first.address()).isGreaterThanOrEqualTo(rig.rail.table().address(0));
            assertThat(first.key()).isEqualTo(rig.rail.table().key(0));
            FakeQueues.Send table = rig.rdma.queues().posted(pair).get(0);
            assertThat(RegionTable.EMPTY
                            .withResponse(table.local(), table.length())
                            .bound())
                    .isOne();
            rig.rdma.queues().succeed(pair, 1);
            acceptor.serve();
            assertThat(takeAnswer(pair)).isEqualTo(Answer.refusal(2, Status.UNREADABLE));
            assertThat(takeAnswer(pair).id()).isEqualTo(3);
            rig.rdma.queues().deliver(pair, release(1));
            acceptor.serve();
            assertThat(rig.staging.returned()).hasSize(1);
            rig.pass(ManualStaging.READ_WITHIN.multipliedBy(2));
            acceptor.expire();
            assertThat(rig.staging.returned()).hasSize(2);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"EINVAL", "ENOMEM"})
    void refusedResponseIsRetried(Errno refusal) {
        ask(handshake(0).encoded());
        int pair = onlyPair();
        rig.rdma.queues().deliver(pair, question(1));
        rig.rdma.queues().deliver(pair, question(2));
        acceptor.serve();
        rig.rdma.queues().failPost(refusal.number(), 0);
        rig.staging.end(Outcome.refusal(Status.UNREADABLE));
        assertThat(rig.rdma.queues().posted(pair)).isEmpty();
        rig.rdma.queues().failPost(0, 0);
        rig.staging.end(Outcome.refusal(Status.UNREADABLE));
        assertThat(takeAnswer(pair)).isEqualTo(Answer.refusal(2, Status.UNREADABLE));
    }

    @Test
    void readerThatDisconnectsLeavesNothingStaged() throws Exception {
        try (Pool pool = TestPools.create(directory, 1 << 20, 1 << 20, rig.rail::register)) {
            long id = ask(handshake(0).encoded());
            int pair = onlyPair();
            rig.rdma.queues().deliver(pair, question(1));
            rig.rdma.queues().deliver(pair, question(2));
            acceptor.serve();
            stage(pool);
            rig.step(id, CmEvent.Type.DISCONNECTED);
            tellOfLastReceives();
            assertThat(rig.staging.returned()).hasSize(1);
            stage(pool);
            assertThat(rig.staging.returned()).hasSize(2);
        }
    }

    @Test
    void idOfAPortThatIsDownIsClosedWhenThePortIsUp() {
        long id = ask(handshake(0).encoded());
        rig.rdma.portActive(false);
        rig.step(id, CmEvent.Type.DISCONNECTED);
        tellOfLastReceives();
        assertThat(rig.rdma.queues().pairNumbers()).isEmpty();
        rig.ids.endDeferred();
        assertThat(rig.rdma.isOpen(id)).as("while the port is down").isTrue();
        rig.step(id, CmEvent.Type.TIMEWAIT_EXIT);
        rig.rdma.portActive(true);
        rig.ids.endDeferred();
        assertThat(rig.rdma.isOpen(id)).isFalse();
        assertThat(rig.rdma.calls("rdma_disconnect")).isOne();
    }

    @Test
    void deferredIdsAreClosedWithTheFabric() {
        long first = ask(handshake(0).encoded());
        long second = ask(handshake(1).encoded());
        rig.rdma.portActive(false);
        acceptor.close();
        assertThat(rig.rdma.isOpen(first)).isTrue();
        rig.ids.close();
        assertThat(rig.rdma.isOpen(first)).isFalse();
        assertThat(rig.rdma.isOpen(second)).isFalse();
    }
}
