// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.FakeQueues;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.fabric.verbs.read.StagingPeer.Reply;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Reads of a peer's disk tier on a fake device: asked for, staged, read, released. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class StagedReadsTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final Map<ReadRequest, Integer> offsets = new HashMap<>();
    private ReadRig rig;
    private StagingPeer peer;

    @BeforeEach
    void open() throws InterruptedException {
        rig = new ReadRig(directory, new Random(1));
        peer = rig.peer();
    }

    @AfterEach
    void close() {
        rig.outcomes().verify(rig, offsets);
        rig.close();
    }

    private ReadRequest submit(int offset, RemoteSlice... slices) throws InterruptedException {
        ReadRequest request = rig.submit(rig.request(slices), 0, ReadRig.TIMEOUT_NANOS);
        offsets.put(request, offset);
        return request;
    }

    private ReadRequest submitDisk(int offset, int length) throws InterruptedException {
        return submit(offset, ReadRig.onDisk(offset, length));
    }

    private int connectOnly() {
        rig.settle();
        int pair = rig.control().accept();
        rig.settle();
        return pair;
    }

    /** Completes the oldest request of a queue pair; the peer processes it if it is a message. */
    private void step(int pair) {
        FakeQueues.Send send = rig.queues().posted(pair).get(0);
        if (send.isRead()) {
            rig.queues().succeed(pair, 1);
        } else {
            rig.answer(pair, send, false);
        }
        rig.settle();
    }

    private void finish(int pair) {
        rig.settle();
        while (!rig.queues().posted(pair).isEmpty()) {
            step(pair);
        }
    }

    private void assertSuccesses(int count) {
        assertThat(rig.outcomes().failures()).isEmpty();
        assertThat(rig.outcomes().successes()).isEqualTo(count);
    }

    private ReadFailedException onlyFailure() {
        assertThat(rig.outcomes().failures()).hasSize(1);
        return rig.outcomes().failures().get(0);
    }

    @Test
    void isAskedForReadAndReleasedWithoutAQueryAboutRegions() throws Exception {
        submitDisk(100, 5000);
        int pair = connectOnly();
        assertThat(rig.queues().posted(pair)).hasSize(1).noneMatch(FakeQueues.Send::isRead);
        step(pair);
        assertThat(peer.questions())
                .singleElement()
                .satisfies(question -> assertThat(question.ranges()).containsExactly(ReadRig.onDisk(100, 5000)));
        assertThat(rig.queues().posted(pair))
                .as("READs of at most 4096 bytes")
                .hasSize(2)
                .allMatch(FakeQueues.Send::isRead)
                .allMatch(send -> send.remoteKey() == rig.rail().table().key(0));
        rig.queues().succeed(pair, 2);
        assertThat(peer.staged()).isOne();
        rig.settle();
        assertSuccesses(1);
        finish(pair);
        assertThat(peer.released()).isOne();
        assertThat(peer.staged()).isZero();
        assertThat(rig.channel().regions().known()).isZero();
    }

    @Test
    void slicesInMemoryAndOnDiskAreGatheredInOrder() throws Exception {
        submit(
                0,
                rig.slice(0, 700),
                ReadRig.onDisk(700, 50),
                ReadRig.onDisk(750, 50),
                rig.slice(800, 5000),
                ReadRig.onDisk(5800, 6000),
                rig.slice(11800, 1));
        submit(20, rig.slice(20, 30));
        int pair = connectOnly();
        finish(pair);
        assertSuccesses(2);
        assertThat(peer.questions()).as("disk ranges of both sides of memory").hasSize(1);
        assertThat(peer.questions().get(0).ranges()).hasSize(3);
        assertThat(peer.released()).isOne();
    }

    @Test
    void readsThatWaitShareAQuestion() throws Exception {
        for (int i = 0; i < 30; i++) {
            submitDisk(i * 100, 100);
        }
        int pair = connectOnly();
        finish(pair);
        assertSuccesses(30);
        assertThat(peer.questions()).hasSize(2);
        assertThat(peer.questions().get(0).ranges()).hasSize(StagingMessages.MAX_RANGES);
        assertThat(peer.questions().get(1).ranges()).hasSize(30 - StagingMessages.MAX_RANGES);
        assertThat(peer.released()).isEqualTo(2);
    }

    @Test
    void longReadIsSeveralQuestions() throws Exception {
        int length = StagingMessages.MAX_BYTES + 4321;
        submitDisk(7, length);
        int pair = connectOnly();
        finish(pair);
        assertSuccesses(1);
        assertThat(peer.questions()).extracting(StagingPeer::bytes).containsExactly(StagingMessages.MAX_BYTES, 4321);
    }

    @Test
    void partiallyStagedRangeIsRequestedAgain() throws Exception {
        peer.policy(question ->
                new Reply(Status.OK, Math.min(1000, StagingPeer.bytes(question)), StagingPeer.WITHIN_MILLIS));
        submitDisk(0, 2500);
        submitDisk(100, 700);
        int pair = connectOnly();
        finish(pair);
        assertSuccesses(2);
        assertThat(peer.questions()).extracting(StagingPeer::bytes).containsExactly(3200, 2200, 1200, 200);
        assertThat(peer.staged()).isZero();
    }

    @Test
    void peerWithoutRoomIsAskedAgainAfterAPause() throws Exception {
        peer.policy(question -> StagingPeer.refuse(Status.NO_ROOM));
        submitDisk(0, 300);
        int pair = connectOnly();
        step(pair);
        assertThat(rig.queues().posted(pair)).as("during the pause").isEmpty();
        rig.pass(Duration.ofMillis(2));
        rig.settle();
        assertThat(rig.queues().posted(pair)).hasSize(1);
        peer.policy(StagingPeer::all);
        finish(pair);
        assertSuccesses(1);
        assertThat(peer.questions()).hasSize(2);
    }

    @Test
    void fullPeerFailsTheReadAndNotThePath() throws Exception {
        peer.policy(question -> StagingPeer.refuse(Status.NO_ROOM));
        submitDisk(0, 300);
        int pair = connectOnly();
        for (int i = 0; i < 400; i++) {
            rig.pass(Duration.ofMillis(100));
            finish(pair);
        }
        ReadFailedException failure = onlyFailure();
        assertThat(failure.reason()).isEqualTo(Reason.NO_ROOM);
        assertThat(failure.reason().isFaultOfPath()).isFalse();
        assertThat(rig.control().closed()).as("the connection stays").isZero();
    }

    @Test
    void unreadableRangeFailsItsReadAndNoOther() throws Exception {
        for (Status status : List.of(Status.UNREADABLE, Status.UNKNOWN)) {
            peer.policy(question ->
                    question.ranges().get(0).offset() == 1000 ? StagingPeer.refuse(status) : StagingPeer.all(question));
            submitDisk(1000, 300);
            submitDisk(0, 300);
            finish(rig.control().hasAttempt() || rig.control().started() == 0 ? connectOnly() : anyPair());
        }
        assertThat(rig.outcomes().successes()).isEqualTo(2);
        assertThat(rig.outcomes().failures()).hasSize(2).allSatisfy(failure -> {
            assertThat(failure.reason()).isEqualTo(Reason.UNREADABLE);
            assertThat(failure.reason().isFaultOfPath()).isFalse();
        });
    }

    @Test
    void readWaitingForItsPostIsNotFailed() throws Exception {
        peer.policy(question -> question.ranges().get(0).offset() == 30_000
                ? StagingPeer.refuse(Status.UNREADABLE)
                : new Reply(Status.OK, 10, StagingPeer.WITHIN_MILLIS));
        RemoteSlice[] slices = new RemoteSlice[2 * ReadRig.DEPTH];
        slices[0] = ReadRig.onDisk(0, 10);
        for (int i = 1; i < slices.length; i++) {
            slices[i] = rig.slice(10 * i, 10);
        }
        submit(0, slices);
        submitDisk(30_000, 300);
        finish(connectOnly());
        assertThat(rig.outcomes().successes()).isOne();
        assertThat(onlyFailure().reason()).isEqualTo(Reason.UNREADABLE);
    }

    private int anyPair() {
        rig.settle();
        return rig.queues().pairNumbers().get(0);
    }

    @Test
    void partlyUnreadableReadFailsAfterItsLastPiece() throws Exception {
        peer.policy(question -> question.ranges().get(0).offset() == 0
                ? new Reply(Status.OK, 1000, StagingPeer.WITHIN_MILLIS)
                : StagingPeer.refuse(Status.UNREADABLE));
        submitDisk(0, 2000);
        int pair = connectOnly();
        step(pair);
        List<FakeQueues.Send> posted = rig.queues().posted(pair);
        assertThat(posted).hasSize(2);
        assertThat(posted.get(0).isRead()).isTrue();
        // The second question's answer overtakes the READ, as it may.
        byte[] answer = Objects.requireNonNull(
                peer.take(pair, rig.queues().message(pair, posted.get(1).id())), "no answer");
        assertThat(rig.queues().deliver(pair, answer)).isTrue();
        rig.settle();
        assertThat(rig.outcomes().count()).as("while the device may write").isZero();
        rig.queues().succeed(pair, 2);
        rig.settle();
        assertThat(onlyFailure().reason()).isEqualTo(Reason.UNREADABLE);
        finish(pair);
    }

    @Test
    void lostAnswerEndsTheConnectionAtTheReadsDeadline() throws Exception {
        peer.policy(question -> null);
        submitDisk(0, 300);
        int pair = connectOnly();
        finish(pair);
        rig.pass(Duration.ofSeconds(29));
        rig.settle();
        assertThat(rig.outcomes().count()).isZero();
        rig.pass(Duration.ofSeconds(2));
        rig.settle();
        rig.pass(Duration.ofMillis(20));
        rig.settle();
        assertThat(onlyFailure().reason()).isEqualTo(Reason.TIMED_OUT);
        assertThat(rig.queues().pairNumbers()).isEmpty();
        peer.policy(StagingPeer::all);
        submitDisk(0, 300);
        rig.passPause();
        finish(connectOnly());
        assertThat(rig.outcomes().successes()).isOne();
    }

    @Test
    void readsThatCompleteTooLateAreNotTrusted() throws Exception {
        peer.policy(question -> new Reply(Status.OK, StagingPeer.bytes(question), 1000));
        submitDisk(0, 300);
        int pair = connectOnly();
        step(pair);
        rig.pass(Duration.ofMillis(2500));
        peer.expire();
        assertThat(peer.staged()).isZero();
        rig.queues().succeed(pair, 1);
        rig.settle();
        assertThat(rig.outcomes().count()).as("it starts again").isZero();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        rig.passPause();
        finish(connectOnly());
        assertSuccesses(1);
    }

    @Test
    void answerThatComesTooLateIsNotReadFrom() throws Exception {
        peer.policy(question -> new Reply(Status.OK, StagingPeer.bytes(question), 1000));
        submitDisk(0, 300);
        int pair = connectOnly();
        rig.pass(Duration.ofMillis(1500));
        FakeQueues.Send question = rig.queues().posted(pair).get(0);
        rig.answer(pair, question, false);
        rig.settle();
        rig.pass(Duration.ofMillis(20));
        rig.settle();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        assertThat(rig.outcomes().count()).isZero();
        peer.expire();
        rig.passPause();
        finish(connectOnly());
        assertSuccesses(1);
    }

    @Test
    void stagedReadsRestartAfterAConnectionLoss() throws Exception {
        submitDisk(0, 9000);
        submitDisk(10, 300);
        int pair = connectOnly();
        step(pair);
        List<FakeQueues.Send> posted = rig.queues().posted(pair);
        assertThat(posted).hasSize(4);
        rig.queues().succeed(pair, 1);
        rig.queues().fail(pair, posted.get(1).id(), VerbsConstants.IBV_WC_RETRY_EXC_ERR);
        rig.settle();
        peer.expire();
        assertThat(peer.staged()).as("the connection has ended").isZero();
        rig.passPause();
        finish(connectOnly());
        assertSuccesses(2);
    }

    @Test
    void ownerThatIsGoneWhileItStagesFailsTheReads() throws Exception {
        peer.policy(question -> null);
        submitDisk(0, 300);
        submitDisk(10, 300);
        int pair = connectOnly();
        finish(pair);
        rig.control().disconnect(rig.control().alive().get(0));
        rig.settle();
        for (int i = 0; i < 2; i++) {
            rig.pass(Duration.ofMillis(300));
            rig.settle();
            rig.control().refuse("not listening");
            rig.settle();
        }
        assertThat(rig.outcomes().failures())
                .hasSize(2)
                .allSatisfy(failure -> assertThat(failure.reason()).isEqualTo(Reason.PEER_GONE));
    }

    @Test
    void damagedAnswerIsNotBelieved() throws Exception {
        submitDisk(0, 300);
        int pair = connectOnly();
        byte[] strange = StagingPeer.encoded(new StagingMessages.Answer(77, Status.OK, 300, 4096, 1, 1000));
        rig.queues().succeed(pair, 1);
        assertThat(rig.queues().deliver(pair, strange)).isTrue();
        rig.settle();
        assertThat(rig.queues().posted()).isEmpty();
        rig.pass(Duration.ofSeconds(31));
        rig.settle();
        rig.pass(Duration.ofMillis(20));
        rig.settle();
        assertThat(onlyFailure().reason()).isEqualTo(Reason.TIMED_OUT);
    }

    @Test
    void staysWithinWhatMayBeStagedAtOnce() throws Exception {
        peer.policy(question -> new Reply(Status.OK, 100, StagingPeer.WITHIN_MILLIS));
        submitDisk(0, 1000);
        int pair = connectOnly();
        for (int i = 0; i < 6; i++) {
            List<FakeQueues.Send> messages = new ArrayList<>(rig.queues().posted(pair));
            messages.removeIf(FakeQueues.Send::isRead);
            for (FakeQueues.Send message : messages) {
                byte[] answer = peer.take(pair, rig.queues().message(pair, message.id()));
                rig.queues().forgetMessage(pair, message.id());
                if (answer != null && answer.length > 0) {
                    rig.queues().deliver(pair, answer);
                }
            }
            rig.settle();
        }
        assertThat(peer.questions()).as("answered before a READ has completed").hasSizeLessThanOrEqualTo(3);
        finish(pair);
        assertSuccesses(1);
    }

    @Test
    void closedChannelFailsWhatIsAskedFor() throws Exception {
        submitDisk(0, 300);
        submitDisk(10, 300);
        connectOnly();
        ReadFailedException failure = new ReadFailedException(Reason.CLOSED, "closed");
        rig.channel().execute(() -> rig.channel().close(failure));
        rig.settle();
        assertThat(rig.outcomes().failures()).hasSize(2);
    }
}
