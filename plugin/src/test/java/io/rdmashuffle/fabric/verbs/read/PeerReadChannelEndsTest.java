// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** How reads of a channel end that do not arrive: deadlines and closing, at each point of their way. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PeerReadChannelEndsTest {
    private static final Duration SHORT = Duration.ofSeconds(2);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ReadRig rig;

    @BeforeEach
    void open() throws InterruptedException {
        rig = new ReadRig(directory, new Random(1));
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private ReadRequest submitShort() throws InterruptedException {
        return rig.submit(rig.request(rig.slice(0, 100)), 0, SHORT.toNanos());
    }

    private void assertOnlyFailure(Reason reason) {
        assertThat(rig.outcomes().failures())
                .singleElement()
                .satisfies(failure -> assertThat(failure.reason()).isEqualTo(reason));
        assertThat(rig.outcomes().count()).isOne();
    }

    @Test
    void deadlineWhileConnecting() throws Exception {
        submitShort();
        rig.settle();
        rig.pass(SHORT);
        rig.settle();
        assertOnlyFailure(Reason.NOT_CONNECTED);
        assertThat(rig.control().hasAttempt()).as("the attempt goes on").isTrue();
    }

    @Test
    void attemptIsWantedAsLongAsAReadWaitsForIt() throws Exception {
        submitShort();
        rig.settle();
        assertThat(rig.control().isWanted()).isTrue();
        rig.pass(SHORT);
        rig.settle();
        assertThat(rig.control().isWanted()).isFalse();
        List<ReadRequest> later = rig.submit(1);
        rig.control().drop();
        rig.settle();
        assertThat(rig.control().started())
                .as("the later read connects, without a pause")
                .isEqualTo(2);
        assertThat(rig.control().isWanted()).isTrue();
        rig.queues().succeed(rig.connect(), 1);
        rig.settle();
        assertThat(later).allMatch(rig.outcomes()::hasEnded);
        assertThat(rig.outcomes().successes()).isOne();
    }

    @Test
    void attemptOfAClosedChannelIsNotWanted() throws Exception {
        rig.submit(1);
        rig.settle();
        closeChannel();
        assertThat(rig.control().isWanted()).isFalse();
        rig.control().drop();
        rig.settle();
        assertThat(rig.control().hasAttempt()).isFalse();
    }

    @Test
    void deadlineBetweenTwoAttempts() throws Exception {
        submitShort();
        rig.settle();
        rig.pass(SHORT);
        rig.control().refuse("too late anyway");
        rig.settle();
        assertOnlyFailure(Reason.TIMED_OUT);
    }

    @Test
    void deadlineOfARegionQueryEndsTheConnection() throws Exception {
        submitShort();
        List<ReadRequest> patient = rig.submit(1);
        rig.settle();
        int pair = rig.control().accept();
        rig.settle();
        rig.queues().succeed(pair, 1);
        rig.settle();
        rig.pass(SHORT);
        rig.settle();
        assertThat(rig.queues().pairNumbers()).as("the answer was lost").isEmpty();
        rig.pass(Duration.ofMillis(20));
        rig.settle();
        assertOnlyFailure(Reason.TIMED_OUT);
        rig.passPause();
        int second = rig.connect();
        rig.queues().succeed(second, 1);
        rig.settle();
        assertThat(patient).allMatch(rig.outcomes()::hasEnded);
    }

    @Test
    void deadlineEndsTheConnectionBeforeReleasing() throws Exception {
        ReadRequest late = submitShort();
        List<ReadRequest> patient = rig.submit(2);
        int pair = rig.connect();
        assertThat(rig.queues().posted(pair)).hasSize(3);
        rig.pass(SHORT);
        rig.settle();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        assertThat(rig.outcomes().hasEnded(late)).isTrue();
        assertOnlyFailure(Reason.TIMED_OUT);
        rig.passPause();
        int second = rig.connect();
        rig.queues().succeed(second, 2);
        rig.settle();
        assertThat(patient).allMatch(rig.outcomes()::hasEnded);
    }

    @Test
    void deadlineWhileQueuedLeavesTheConnectionAlone() throws Exception {
        List<ReadRequest> posted = rig.submit(ReadRig.DEPTH - 1);
        int pair = rig.connect();
        submitShort();
        rig.settle();
        rig.pass(SHORT);
        rig.settle();
        assertOnlyFailure(Reason.TIMED_OUT);
        rig.queues().succeed(pair, posted.size());
        rig.settle();
        assertThat(rig.outcomes().successes()).isEqualTo(posted.size());
    }

    @Test
    void deadlineOfAReadThatIsPartlyPostedEndsTheConnection() throws Exception {
        int pieces = ReadRig.DEPTH;
        ReadRequest longRead = rig.request(rig.slice(0, pieces * 100), rig.slice(0, 100), rig.slice(7, 9));
        rig.submit(rig.request(rig.slice(0, 100)), 0, ReadRig.TIMEOUT_NANOS);
        for (int i = 0; i < ReadRig.DEPTH - 3; i++) {
            rig.submit(1);
        }
        longRead = rig.submit(longRead, 0, SHORT.toNanos());
        int pair = rig.connect();
        assertThat(rig.queues().posted(pair)).hasSize(ReadRig.DEPTH - 1);
        rig.pass(SHORT);
        rig.settle();
        assertThat(rig.outcomes().hasEnded(longRead)).isTrue();
        assertOnlyFailure(Reason.TIMED_OUT);
    }

    private void closeChannel() {
        rig.channel().execute(() -> rig.channel().close(new ReadFailedException(Reason.CLOSED, "closed")));
        rig.settle();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        assertThat(rig.pool().usage().leases()).as("the source alone").isOne();
    }

    @Test
    void closeBeforeAnyUse() throws Exception {
        closeChannel();
        rig.submit(1);
        rig.settle();
        assertOnlyFailure(Reason.CLOSED);
        assertThat(rig.control().started()).isZero();
    }

    @Test
    void closeWhileConnecting() throws Exception {
        rig.submit(1);
        rig.settle();
        closeChannel();
        assertOnlyFailure(Reason.CLOSED);
        rig.control().refuse("too late");
        rig.settle();
    }

    @Test
    void closeWhileQuerying() throws Exception {
        rig.submit(1);
        rig.settle();
        rig.control().accept();
        rig.settle();
        closeChannel();
        assertOnlyFailure(Reason.CLOSED);
        assertThat(rig.control().alive()).isEmpty();
    }

    @Test
    void closeWhilePosted() throws Exception {
        rig.submit(1);
        rig.connect();
        closeChannel();
        assertOnlyFailure(Reason.CLOSED);
    }

    @Test
    void closeWhileSomeArePostedAndSomeWait() throws Exception {
        List<ReadRequest> requests = rig.submit(3 * ReadRig.DEPTH);
        int pair = rig.connect();
        rig.queues().succeed(pair, 1);
        closeChannel();
        assertThat(rig.outcomes().failures()).hasSize(requests.size());
    }

    @Test
    void closeInThePauseAfterAFailure() throws Exception {
        rig.submit(1);
        rig.settle();
        rig.control().refuse("refused");
        rig.settle();
        closeChannel();
        assertOnlyFailure(Reason.CLOSED);
        rig.passPause();
        rig.settle();
        assertThat(rig.control().hasAttempt()).isFalse();
    }

    @Test
    void closeWhileIdleClosesTheConnection() throws Exception {
        rig.submit(1);
        int pair = rig.connect();
        rig.queues().succeed(pair, 1);
        rig.settle();
        closeChannel();
        assertThat(rig.control().closed()).isOne();
    }

    @Test
    void targetIsKeptWhenTheQueuePairCannotBeDestroyed() throws Exception {
        ReadRequest request = rig.request(rig.slice(0, 100));
        KeptTarget kept = new KeptTarget();
        request = rig.submit(request, 0, ReadRig.TIMEOUT_NANOS, kept);
        int pair = rig.connect();
        rig.rdma().fail("ibv_destroy_qp", Errno.EIO);
        rig.queues().fail(pair, rig.queues().posted(pair).get(0).id(), VerbsConstants.IBV_WC_REM_ACCESS_ERR);
        rig.settle();
        rig.rdma().repair("ibv_destroy_qp");
        assertThat(kept.failures).isOne();
        assertThat(rig.queues().posted(pair)).as("the device may still write").hasSize(1);
        request.target().close();
        rig.queues().forget(pair);
        rig.control().abandonIdentities();
    }

    /** Counts failures; the target stays open. */
    private static final class KeptTarget implements ReadRequest.Listener {
        private int failures;

        @Override
        public void succeeded(ReadRequest request) {
            throw new AssertionError("succeeded");
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failure) {
            failures++;
        }
    }

    @Test
    void readThatFailsIsTriedOnTheNextLane() throws Exception {
        try (ReadRig two = new ReadRig(directory, new Random(2), new FakeRdma(), ReadRig.DEPTH, 2)) {
            two.submit(two.request(two.slice(0, 10)), 0, ReadRig.TIMEOUT_NANOS);
            two.settle();
            two.control().refuse("lane 0 is refused");
            int pair = two.connect();
            two.queues().succeed(pair, 1);
            two.settle();
            assertThat(two.outcomes().successes()).isOne();
            assertThat(two.channels().get(0).connection()).isNull();
            assertThat(two.channels().get(1).connection()).isNotNull();
        }
    }

    /** Posted, waiting and new reads continue, each once. */
    @Test
    void readsOfALostDeviceStartAgainOnTheNextLane() throws Exception {
        try (ReadRig two = new ReadRig(directory, new Random(2), new FakeRdma(), 2, 2)) {
            List<ReadRequest> requests = two.submit(5);
            int pair = two.connect();
            assertThat(two.queues().posted(pair)).hasSizeBetween(1, 4);
            requests.addAll(two.submit(1));
            two.threads().get(0).lose(new ReadFailedException(Reason.NOT_CONNECTED, "the device is gone"));
            two.threads().get(0).run();
            assertThat(two.outcomes().count()).isZero();
            int other = two.connect();
            while (two.outcomes().count() < requests.size()) {
                two.queues().succeed(other, two.queues().posted(other).size());
                two.settle();
            }
            assertThat(two.outcomes().successes()).isEqualTo(6);
            ReadRequest late = two.submit(1).get(0);
            assertThat(two.outcomes().hasEnded(late)).isTrue();
            assertThat(two.outcomes().failures())
                    .singleElement()
                    .satisfies(failure -> assertThat(failure).hasMessageContaining("the device is gone"));
        }
    }
}
